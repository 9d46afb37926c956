/** The picker of notes inside a host: keys go to Pepys, the lines that come back are drawn. */
import type { Component, Context, Screen } from "./host.ts";
import type { Json } from "./core.ts";

interface Step extends Json {
	state: Json;
	lines: [string, string][][];
	closed: boolean;
}

const STYLES: Record<string, string> = {
	title: "1",
	dim: "2",
	tag: "36",
	focus: "1",
	mark: "33",
	error: "31",
	cursor: "7",
};

const MODIFIERS = ["shift", "alt", "ctrl", "super"];
const FINAL: Record<string, string> = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", Z: "shift+tab" };
const TILDE: Record<string, string> = { 1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end" };
const CODES: Record<number, string> = { 8: "backspace", 9: "tab", 13: "enter", 27: "escape", 127: "backspace" };

/** What was typed: a key by its name, or text. Undefined for what is neither. */
export function typed(data: string): { key: string } | { text: string } | undefined {
	if (data === "\x1b") return { key: "escape" };
	// eslint-disable-next-line no-control-regex
	const sequence = /^\x1b(?:\[|O)(\d*)(?::\d*)*(?:;(\d+)(?::(\d+))?)?(?:;[\d:]*)?([A-Za-z~])$/.exec(data);
	if (sequence) {
		const [, code = "", modifier = "1", kind, final = ""] = sequence;
		if (kind === "3") return undefined; // a key that was let go
		const held = Number(modifier) - 1;
		if (final === "u") {
			const name = CODES[Number(code)] ?? String.fromCodePoint(Number(code)).toLowerCase();
			if ((held & 0b1110) === 0 && CODES[Number(code)] === undefined) return { text: (held & 1) === 1 ? name.toUpperCase() : name };
			return { key: withModifiers(name, held) };
		}
		const name = final === "~" ? TILDE[code] : FINAL[final];
		return name === undefined ? undefined : { key: withModifiers(name, held) };
	}
	if (data.length === 1) {
		const code = data.charCodeAt(0);
		if (CODES[code] !== undefined) return { key: CODES[code] as string };
		if (code === 10) return { key: "enter" };
		if (code < 27) return { key: `ctrl+${String.fromCharCode(code + 96)}` };
		if (code < 32) return undefined;
	}
	const pasted = /^\x1b\[200~([\s\S]*)\x1b\[201~$/.exec(data);
	if (pasted) return { text: pasted[1] ?? "" };
	if (data.startsWith("\x1b")) return data.length === 2 ? { key: `alt+${data[1]}` } : undefined;
	return { text: data };
}

function withModifiers(name: string, held: number): string {
	return [...MODIFIERS.filter((_, bit) => (held & (1 << bit)) !== 0), name].join("+");
}

/** Shows the picker until the person leaves it. */
export async function pick(ctx: Context, call: (args: Json) => Promise<Json>): Promise<void> {
	let failure: unknown;
	await ctx.ui.custom((screen, _theme, _keys, done) => {
		const picker = new Picker(screen, (args) => call(args) as Promise<Step>, (error) => {
			failure = error;
			done(undefined);
		});
		return picker;
	});
	if (failure !== undefined) throw failure;
}

class Picker implements Component {
	#state: Json | undefined;
	#lines: string[] = [];
	#drawn = 0;
	#width = 0;
	#steps: Promise<void> = Promise.resolve();
	#closed = false;

	readonly #screen: Screen;
	readonly #step: (args: Json) => Promise<Step>;
	readonly #close: (error?: unknown) => void;

	constructor(screen: Screen, step: (args: Json) => Promise<Step>, close: (error?: unknown) => void) {
		this.#screen = screen;
		this.#step = step;
		this.#close = close;
	}

	render(width: number): string[] {
		if (width !== this.#width) {
			this.#width = width;
			this.#take({});
		}
		return this.#drawn === width ? this.#lines : [""];
	}

	handleInput(data: string): void {
		const key = typed(data);
		if (key) this.#take("key" in key && key.key === "ctrl+c" ? { key: "escape" } : key);
	}

	invalidate(): void {}

	/** One step after the other: a key means what it means on the screen that it was typed at. */
	#take(what: Json): void {
		this.#steps = this.#steps.then(async () => {
			if (this.#closed) return;
			const width = this.#width || 80;
			const height = Math.max(8, Math.min(24, this.#screen.terminal.rows - 4));
			try {
				const shown = await this.#step({ ...what, width, height, ...(this.#state && { state: this.#state }) });
				this.#state = shown.state;
				this.#lines = shown.lines.map((line) => line.map(([text, style]) => styled(text, style)).join(""));
				this.#drawn = width;
				if (shown.closed) this.#end();
				else this.#screen.requestRender();
			} catch (error) {
				this.#end(error);
			}
		});
	}

	#end(error?: unknown): void {
		this.#closed = true;
		this.#close(error);
	}
}

function styled(text: string, style: string): string {
	const code = STYLES[style];
	if (code === undefined || (process.env.NO_COLOR && style !== "cursor")) return text;
	return `\x1b[${code}m${text}\x1b[0m`;
}
