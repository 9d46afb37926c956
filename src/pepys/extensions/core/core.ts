/**
 * The Pepys process behind an extension: JSON-RPC 2.0, one message a line, over its stdin and stdout.
 *
 * It is started when it is first needed, and again after a crash, but not for ever. Whatever goes wrong with it is an
 * Error with one sentence for people; it never takes the host with it.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { StringDecoder } from "node:string_decoder";

export const PROTOCOL_VERSION = 1;

const HANDSHAKE_MS = 10_000;
const GRACE_MS = 2_000;
/** Crashes and hangs after which Pepys is not started again in this session. */
const MAX_FAILURES = 3;
/** After so long without an answer, and every so often from then on, the process is asked whether it is there. */
const PING_MS = 3_000;
/** A process that does not say that it is there within this time hangs. */
const PONG_MS = 1_500;
const STDERR_CHARS = 2_000;

export type Json = Record<string, unknown>;

/** What Pepys may ask of the host. A rejection becomes an error that it can tell people about. */
export interface Callbacks {
	complete(params: { model?: string; system: string; prompt: string; timeoutMs: number; session?: string }): Promise<{ text: string }>;
	confirm(params: { title: string; text?: string; session?: string }): Promise<{ confirmed: boolean }>;
	edit(params: { title: string; text: string; session?: string }): Promise<{ text?: string }>;
	notify(params: { level: "info" | "warning" | "error"; text: string; session?: string }): void;
}

export interface Options {
	/** How long the answer is waited for. While a person is asked something, the time stands still. */
	timeoutMs: number;
	signal?: AbortSignal | undefined;
	onProgress?: (done: number, total: number) => void;
}

interface Waiting extends Options {
	resolve(value: Json): void;
	reject(error: Error): void;
	timer?: ReturnType<typeof setTimeout>;
}

interface Failure {
	message?: string;
	data?: { hint?: string };
}

/** Pepys did not answer in time. */
export class NoAnswer extends Error {}

/** How Pepys is started: what `pepys setup` wrote beside the extension, else whatever is on the PATH. */
export function command(): string[] {
	if (process.env.PEPYS_COMMAND) return strings(JSON.parse(process.env.PEPYS_COMMAND));
	try {
		const launch = fileURLToPath(new URL("../launch.json", import.meta.url));
		return strings((JSON.parse(readFileSync(launch, "utf8")) as { command: unknown }).command);
	} catch (error) {
		if ((error as { code?: string }).code === "ENOENT") return ["pepys"];
		throw error;
	}
}

function strings(value: unknown): string[] {
	if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")) return value;
	throw new Error("the command of Pepys is no list of words");
}

export class Core {
	#child: ChildProcessWithoutNullStreams | undefined;
	#ready: Promise<unknown> | undefined;
	#shaken = false;
	#waiting = new Map<number, Waiting>();
	#nextId = 1;
	#failures = 0;
	#asking = 0;
	#stderr = "";
	/** Why Pepys is not started again. */
	#givenUp: string | undefined;

	readonly #client: string;
	readonly #callbacks: Callbacks;
	readonly #words: () => string[];

	constructor(client: string, callbacks: Callbacks, words: () => string[] = command) {
		this.#client = client;
		this.#callbacks = callbacks;
		this.#words = words;
	}

	/** The answer to a request. Rejects with what is wrong, in words for people. */
	async request(method: string, params: Json, options: Options): Promise<Json> {
		if (this.#givenUp) throw new Error(this.#givenUp);
		const until = Date.now() + options.timeoutMs;
		const { child, ready } = this.#running();
		await before(until, options.signal, ready);
		if (this.#child !== child) throw new Error(this.#givenUp ?? "Pepys ended before it answered.");
		return this.#ask(child, method, params, { ...options, timeoutMs: Math.max(1, until - Date.now()) });
	}

	/** A session begins: what went wrong in another one does not count. */
	begin(): void {
		this.#givenUp = undefined;
		this.#failures = 0;
	}

	/** Whether there is a process. */
	get running(): boolean {
		return this.#child !== undefined;
	}

	/** Ends the process if it does not even say that it is there: it is slow, or it hangs. */
	async ping(): Promise<void> {
		const child = this.#child;
		if (!child || !this.#shaken) return; // a process that starts has a time of its own
		await this.#ask(child, "ping", {}, { timeoutMs: PONG_MS }).catch((error: Error) => {
			if (error instanceof NoAnswer && this.#child === child) this.#fail(child, "it hangs");
		});
	}

	/** Ends the process: closing its input asks it to leave, and it is killed if it does not. */
	async stop(graceMs = GRACE_MS): Promise<void> {
		const child = this.#child;
		if (!child) return;
		this.#forget(new Error("Pepys was stopped."));
		if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
		await new Promise<void>((resolve) => {
			const timer = setTimeout(() => {
				child.kill("SIGKILL");
				resolve();
			}, graceMs);
			child.once("close", () => {
				clearTimeout(timer);
				resolve();
			});
			child.stdin.end();
		});
	}

	#running(): { child: ChildProcessWithoutNullStreams; ready: Promise<unknown> } {
		if (this.#child && this.#ready) return { child: this.#child, ready: this.#ready };
		let words: string[];
		try {
			words = [...this.#words(), "serve"];
		} catch (error) {
			throw new Error(`Pepys cannot be started: ${messageOf(error)}. Run \`pepys setup\` again.`);
		}
		const [file, ...args] = words as [string, ...string[]];
		const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
		this.#child = child;
		this.#shaken = false;
		this.#stderr = "";
		this.#listen(child, file);
		const params = { protocolVersion: PROTOCOL_VERSION, client: { name: this.#client }, capabilities: ["complete", "confirm", "edit", "notify"] };
		this.#ready = this.#ask(child, "initialize", params, { timeoutMs: HANDSHAKE_MS }).then(
			() => {
				this.#shaken = true;
			},
			(error: Error) => {
				// A process that does not even shake hands will not do better at the next prompt.
				this.#givenUp ??= error instanceof NoAnswer ? "Pepys was started and does not answer. `pepys doctor` may tell why." : error.message;
				if (this.#child === child) this.#fail(child, error.message);
				throw new Error(this.#givenUp);
			},
		);
		this.#ready.catch(() => {}); // whoever waits for it gets it; nobody has to
		return { child, ready: this.#ready };
	}

	#listen(child: ChildProcessWithoutNullStreams, file: string): void {
		// Split on "\n" only: node:readline also splits on U+2028, which JSON may hold raw.
		const decoder = new StringDecoder("utf8");
		let pending = "";
		child.stdout.on("data", (chunk: Buffer) => {
			const parts = (pending + decoder.write(chunk)).split("\n");
			pending = parts.pop() ?? "";
			for (const line of parts) if (this.#child === child) this.#receive(child, line);
		});
		child.stderr.on("data", (chunk: Buffer) => {
			this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-STDERR_CHARS);
		});
		child.stdin.on("error", () => {}); // it ended while it was written to; "close" tells
		child.on("error", (error: NodeJS.ErrnoException) => {
			this.#givenUp =
				error.code === "ENOENT"
					? `Pepys cannot be started: ${file} is not there. Install it (pip install pepys), then run \`pepys setup\` again.`
					: `Pepys cannot be started: ${error.message}.`;
			if (this.#child === child) this.#forget(new Error(this.#givenUp));
		});
		child.on("close", (code, signal) => {
			if (this.#child === child) this.#fail(child, `it ended (${signal ?? code})${lastLine(this.#stderr)}`);
		});
		// What the host waits for is an answer, never the process itself.
		child.unref();
		for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref?(): void }).unref?.();
	}

	#receive(child: ChildProcessWithoutNullStreams, line: string): void {
		if (!line.trim()) return;
		let message: { id?: unknown; method?: string; params?: Json; result?: Json; error?: Failure };
		try {
			message = JSON.parse(line);
			if (message === null || typeof message !== "object") throw new Error();
		} catch {
			this.#fail(child, "it printed what is no message");
			return;
		}
		if (message.method === "progress") {
			const { id, done, total } = message.params as { id: number; done: number; total: number };
			this.#waiting.get(id)?.onProgress?.(done, total);
		} else if (message.method === "notify") {
			this.#callbacks.notify(message.params as never);
		} else if (message.method !== undefined) {
			void this.#asked(child, message.id, message.method, message.params ?? {});
		} else {
			const waiting = this.#waiting.get(message.id as number);
			if (message.error) waiting?.reject(new Error(told(message.error)));
			else waiting?.resolve(message.result ?? {});
		}
	}

	async #asked(child: ChildProcessWithoutNullStreams, id: unknown, method: string, params: Json): Promise<void> {
		this.#asking++;
		try {
			if (method !== "complete" && method !== "confirm" && method !== "edit") throw new Error(`There is no ${method}.`);
			const result = await this.#callbacks[method](params as never);
			write(child, { id, result });
		} catch (error) {
			write(child, { id, error: { code: -32000, message: messageOf(error) } });
		} finally {
			this.#asking--;
		}
	}

	#ask(child: ChildProcessWithoutNullStreams, method: string, params: Json, options: Options): Promise<Json> {
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			const settle = (done: () => void) => {
				clearTimeout(waiting.timer);
				clearInterval(pings);
				options.signal?.removeEventListener("abort", abort);
				this.#waiting.delete(id);
				done();
			};
			const cancel = (error: Error) => {
				write(child, { method: "cancel", params: { id } });
				settle(() => reject(error));
			};
			const abort = () => cancel(new Error("Cancelled."));
			const arm = () => {
				waiting.timer = setTimeout(() => {
					if (this.#asking > 0) arm();
					else cancel(new NoAnswer(`Pepys did not answer within ${Math.round(options.timeoutMs / 100) / 10} s.`));
				}, options.timeoutMs);
			};
			const waiting: Waiting = {
				...options,
				resolve: (value) => settle(() => resolve(value)),
				reject: (error) => settle(() => reject(error)),
			};
			const pings = method === "ping" || method === "initialize" ? undefined : setInterval(() => void this.ping(), PING_MS);
			this.#waiting.set(id, waiting);
			if (options.signal?.aborted) return abort();
			options.signal?.addEventListener("abort", abort, { once: true });
			arm();
			write(child, { id, method, params });
		});
	}

	/** The process crashed, hangs or talks nonsense: it is ended, and started again when it is next needed. */
	#fail(child: ChildProcessWithoutNullStreams, why: string): void {
		this.#failures++;
		if (this.#failures >= MAX_FAILURES) {
			this.#givenUp ??= `Pepys is switched off until the next session (or /reload): it failed ${this.#failures} times, and now ${why}. \`pepys doctor\` may tell why.`;
		}
		this.#forget(new Error(this.#givenUp ?? `Pepys could not answer: ${why}.`));
		child.kill("SIGKILL");
	}

	#forget(error: Error): void {
		this.#child = this.#ready = undefined;
		for (const waiting of [...this.#waiting.values()]) waiting.reject(error);
	}
}

function write(child: ChildProcessWithoutNullStreams, message: Json): void {
	if (child.stdin.writable) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

/** Waits for *ready*, but no longer than *until*, and not after an abort. */
async function before(until: number, signal: AbortSignal | undefined, ready: Promise<unknown>): Promise<void> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	let abort: (() => void) | undefined;
	try {
		await Promise.race([
			ready,
			new Promise<never>((_, reject) => {
				timer = setTimeout(() => reject(new NoAnswer("Pepys did not start in time.")), Math.max(1, until - Date.now()));
				abort = () => reject(new Error("Cancelled."));
				signal?.addEventListener("abort", abort, { once: true });
				if (signal?.aborted) abort();
			}),
		]);
	} finally {
		clearTimeout(timer);
		if (abort) signal?.removeEventListener("abort", abort);
	}
}

/** What is wrong, and the next step. */
function told({ message, data }: Failure): string {
	return data?.hint ? `${message} ${data.hint}` : String(message);
}

function lastLine(text: string): string {
	const line = text.trim().split("\n").at(-1)?.trim();
	return line ? `: ${line.slice(0, 200)}` : "";
}

export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
