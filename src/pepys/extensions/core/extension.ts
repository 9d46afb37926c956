/**
 * Pepys inside a host. It forwards what happens to the Pepys process, and shows what comes back; what to do about it
 * is decided there. Nothing here throws into the host or keeps it waiting without a limit.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Core, type Json, NoAnswer, messageOf } from "./core.ts";
import type { Context, Extension, Host, Model, Registry, Tool, ToolResult } from "./host.ts";
import { pick } from "./picker.ts";

/** How long an entry is waited for. */
const DISTILLED_MS = 25_000;
/** How long each event may hold the host up, in ms. */
const LIMITS = { start: 10_000, prompt: 2_000, settled: 5_000, compacted: 2_000, shutdown: 15_000 };
const TOOL_MS = 60_000;
/** A model condenses all of memory. */
const LONG_TOOLS: Record<string, number> = { memory_compact: 310_000, pepys_run: 130_000 };
const COMMAND_MS = 60_000;

/** How long a person is left without a word while a session ends. */
const PATIENCE_MS = 400;
const FINISHING = "Pepys finishes the memory of this session: 15 s at most; ^C leaves it with a marker.";

const NOTES = ["list", "path", "reload", "doctor", "edit", "clear"];

const COMMANDS = {
	recall: { description: "Look for something in past sessions and daily memory (--all: in every project)", verbs: ["--all"] },
	memory: { description: "Durable notes: pick, list, edit, check", verbs: NOTES },
	notes: { description: "The same as /memory, where a host has one of its own", verbs: NOTES },
	pepys: { description: "How Pepys is doing, and this session's tree", verbs: ["status", "doctor", "tree"] },
};

interface Notice {
	level: "info" | "warning" | "error";
	text: string;
}

interface Effects extends Json {
	systemPrompt?: string;
	messages?: { customType: string; content: string }[];
	notices?: Notice[];
	prompt?: string;
	picker?: boolean;
}

/** What is known of a running session, taken while its context was valid. */
interface Session {
	ctx: Context;
	registry: Registry;
	model: Model | undefined;
}

/** One process and its sessions, for all instances of the extension in this host: sub-agents load it again. */
interface Shared {
	core: Core;
	sessions: Map<string, Session>;
}

const SHARED = Symbol.for("pepys");

export function extension(host: Host): (pi: Extension) => void {
	return (pi) => new Pepys(pi, host).register();
}

class Pepys {
	/** Id of the session that this instance serves; none before it starts, and where another instance serves it. */
	#session: string | undefined;
	/** Whether the session has snapshots, notes and captures, and not tools alone. */
	#remembers = true;
	#context: Json = {};
	#systemPrompt = "";
	#messages: { customType: string; content: string; display: boolean }[] = [];
	#capture: Promise<unknown> = Promise.resolve();
	/** Calls of tools that failed: Pi 0.73 knows no error in a result, but lets it be made one afterwards. */
	#failed = new Set<string>();
	/** Told that a run begins. */
	#begun: () => void = () => {};
	#said = new Set<string>();

	readonly #pi: Extension;
	readonly #host: Host;

	constructor(pi: Extension, host: Host) {
		this.#pi = pi;
		this.#host = host;
	}

	/** Nothing is started here: hosts load extensions for --help, too. */
	register(): void {
		this.#on("session_start", (_, ctx) => this.#start(ctx));
		this.#on("before_agent_start", (event, ctx) => this.#prompt(event, ctx));
		this.#on("before_agent_start", () => this.#beside());
		this.#pi.on("tool_result", (event) => (this.#failed.delete(event.toolCallId) ? { isError: true } : undefined));
		this.#on("agent_start", () => this.#begun());
		this.#on("context", (event) => onlyTheNewest(event));
		for (const [name, isSettled] of Object.entries(this.#host.settled)) {
			// Not waited for, and no promise: in JSON mode Pi 0.73 loses an event whose handler gives one.
			this.#pi.on(name, (event, ctx) => {
				const settled = this.#session !== undefined && this.#remembers && isSettled(event, ctx);
				if (settled) this.#settled(event, ctx, settled === "waits");
				return settled === "waits" ? this.#capture : undefined;
			});
		}
		for (const name of this.#host.switched) this.#on(name, (_, ctx) => this.#switched(ctx));
		this.#on("session_compact", (_, ctx) => this.#compacted(ctx));
		this.#on("session_shutdown", (event, ctx) => this.#shutdown(event, ctx));
		for (const [name, { description, verbs }] of Object.entries(COMMANDS)) {
			this.#pi.registerCommand(name, {
				description,
				handler: (args, ctx) => this.#command(name, args, ctx),
				// What is whole already is not offered: Enter would take the offer instead of sending the command.
				getArgumentCompletions: (prefix) =>
					verbs
						.filter((verb) => verb.startsWith(prefix) && verb !== prefix)
						.map((verb) => ({ value: verb, label: verb })),
			});
		}
	}

	/** A handler that is called only while this instance serves, and never throws. */
	#on(name: string, handler: (event: any, ctx: Context) => unknown): void {
		this.#pi.on(name, async (event, ctx) => {
			if (name !== "session_start" && this.#session === undefined) return undefined;
			if (name !== "session_start" && name !== "session_shutdown" && !this.#remembers) return undefined;
			try {
				return await handler(event, ctx);
			} catch (error) {
				this.#say(ctx, [{ level: "error", text: messageOf(error) }]);
				return undefined;
			}
		});
	}

	#start(ctx: Context): void {
		const id = ctx.sessionManager.getSessionId();
		const shared = this.#shared();
		if (shared.sessions.has(id)) return; // loaded by another path, too: the first instance serves
		this.#session = id;
		this.#said.clear();
		this.#taken(ctx);
		this.#registerTools(ctx);
		this.#remembers = !this.#host.isSubAgent(ctx);
		if (!this.#remembers) return; // nor does a sub-agent forgive what went wrong in the session that it is of
		shared.core.begin();
		// Nobody waits for it. The process keeps the order: what the first prompt asks is answered after this.
		void this.#event("start", {}, ctx);
	}

	/** Our tools, but for those whose names another extension has. */
	#registerTools(ctx: Context): void {
		const taken = new Map(this.#pi.getAllTools().map((tool) => [tool.name, tool.sourceInfo?.path]));
		const others: string[] = [];
		for (const tool of tools()) {
			const path = taken.get(tool.name);
			if (taken.has(tool.name) && path !== this.#host.entry) others.push(`${tool.name}${path ? ` (${path})` : ""}`);
			else if (!taken.has(tool.name)) this.#registerTool(tool);
		}
		if (others.length > 0) {
			const text = `Pepys leaves out tools that other extensions have: ${others.join(", ")}.`;
			this.#say(ctx, [{ level: "warning", text }]);
		}
	}

	#registerTool(tool: Tool): void {
		this.#pi.registerTool({
			name: tool.name,
			label: tool.label,
			description: tool.description,
			parameters: tool.parameters,
			...this.#host.tool(tool),
			execute: async (id, params, signal, onUpdate, ctx) => {
				const failed = (text: string, details: Json = { pepys: { tool: tool.name } }) => {
					this.#failed.add(id);
					return result(text, details, true);
				};
				if (!tool.annotations.readOnlyHint && this.#host.isPlanning(ctx)) {
					return failed(`${tool.name} changes something, which plan mode does not allow.`);
				}
				const context = { ...this.#taken(ctx), toolCallId: id };
				const onProgress = (done: number, total: number) =>
					onUpdate?.(result(`Reading past sessions: ${Math.round((100 * done) / Math.max(1, total))} %`, {}));
				try {
					const options = { timeoutMs: LONG_TOOLS[tool.name] ?? TOOL_MS, signal, onProgress };
					const told = await this.#shared().core.request("tool", { name: tool.name, args: params, context }, options);
					const { text, details, isError } = told as { text: string; details: Json; isError: boolean };
					if (isError) return failed(text, details);
					return { ...result(text, details), ...(tool.outputSchema && { structuredContent: details }) };
				} catch (error) {
					return failed(messageOf(error));
				}
			},
		});
	}

	async #prompt(event: any, ctx: Context): Promise<Json | undefined> {
		const effects = await this.#event("prompt", { prompt: String(event.prompt ?? "") }, ctx);
		this.#messages = (effects?.messages ?? []).map((message) => ({ ...message, display: false }));
		const appended = this.#systemPrompt ? this.#host.systemPrompt(event, this.#systemPrompt) : {};
		return { ...appended, ...this.#beside() };
	}

	/** The next message to put beside the prompt: a handler can give the host one. */
	#beside(): Json | undefined {
		const message = this.#messages.shift();
		return message && { message };
	}

	#settled(event: any, ctx: Context, wait: boolean): void {
		// All of it before the first await: the context may not outlive the handler.
		const context = this.#taken(ctx);
		const session = ctx.model && { provider: ctx.model.provider, model: `${ctx.model.provider}/${ctx.model.id}` };
		const available = ctx.modelRegistry.getAvailable();
		const before = this.#capture;
		this.#capture = (async () => {
			await before;
			const models = (await available).map(({ provider, id, cost }) => ({
				provider,
				id,
				input: cost?.input ?? 0,
				output: cost?.output ?? 0,
			}));
			const about = { aborted: event.aborted === true, wait, ...session, models };
			await this.#event("settled", about, ctx, context, wait ? DISTILLED_MS : LIMITS.settled);
		})().catch(() => {});
	}

	async #compacted(ctx: Context): Promise<void> {
		await this.#event("compacted", {}, ctx);
	}

	async #switched(ctx: Context): Promise<void> {
		await this.#end(ctx, Date.now() + LIMITS.shutdown);
		this.#start(ctx);
	}

	/** The end of the session that was served: what is under way of its captures is finished, within the time. */
	async #end(ctx: Context, until: number): Promise<void> {
		await within(until - Date.now(), this.#capture);
		const served = this.#session;
		this.#session = undefined;
		const left = until - Date.now();
		if (this.#remembers && this.#shared().core.running && left > 0) await this.#event("shutdown", {}, ctx, this.#context, left);
		if (served !== undefined) this.#shared().sessions.delete(served);
	}

	async #shutdown(event: any, ctx: Context): Promise<void> {
		const until = Date.now() + this.#host.shutdownMs;
		const shared = this.#shared();
		// The screen is the shell's again when a person quits, so what is shown in it would not be seen.
		const told = event.reason === "quit" ? setTimeout(() => console.error(FINISHING), PATIENCE_MS) : undefined;
		await this.#end(ctx, until);
		clearTimeout(told);
		if (shared.sessions.size === 0) {
			delete (globalThis as any)[SHARED];
			await shared.core.stop(Math.max(200, Math.min(2_000, until - Date.now())));
		}
	}

	async #command(name: string, args: string, ctx: Context): Promise<void> {
		try {
			const context = this.#taken(ctx);
			const params = { name, args, context, mode: mode(ctx), hasUi: ctx.hasUI, columns: process.stdout.columns || 80 };
			const effects = (await this.#shared().core.request("command", params, { timeoutMs: COMMAND_MS })) as Effects;
			this.#say(ctx, effects.notices ?? [], { again: true });
			if (effects.picker) {
				const step = (args: Json) =>
					this.#shared().core.request("call", { ref: "notes.picker", args, context }, { timeoutMs: LIMITS.start });
				await pick(ctx, step);
			}
			if (effects.prompt) await this.#send(effects.prompt, ctx);
		} catch (error) {
			this.#say(ctx, [{ level: "error", text: messageOf(error) }], { again: true });
		}
	}

	/** Sends *text* as if the person had written it. Print mode ends with the command, unless the run is waited for. */
	async #send(text: string, ctx: Context): Promise<void> {
		const begun = new Promise<void>((resolve) => (this.#begun = resolve));
		this.#pi.sendUserMessage(text);
		if (ctx.hasUI) return;
		await within(LIMITS.start, begun); // before that, OMP says that it is idle
		await ctx.waitForIdle?.();
	}

	/** What Pepys says to an event; undefined if it says nothing in time. What it has for people is shown. */
	async #event(
		name: keyof typeof LIMITS,
		about: Json,
		ctx: Context,
		context: Json = this.#taken(ctx),
		timeoutMs: number = LIMITS[name],
	): Promise<Effects | undefined> {
		const core = this.#shared().core;
		try {
			const effects = (await core.request("event", { name, context, ...about }, { timeoutMs })) as Effects;
			// Kept for the turns in which Pepys cannot answer: the same bytes, whatever happens.
			if (name === "start" || name === "prompt" || name === "compacted") this.#systemPrompt = effects.systemPrompt ?? "";
			this.#say(ctx, effects.notices ?? []);
			return effects;
		} catch (error) {
			if (this.#session === undefined) return undefined; // it is over; what was under way ends with its process
			if (error instanceof NoAnswer) void core.ping();
			this.#say(ctx, [{ level: "warning", text: messageOf(error) }]);
			return undefined;
		}
	}

	#shared(): Shared {
		const known = (globalThis as any)[SHARED] as Shared | undefined;
		if (known) return known;
		const sessions = new Map<string, Session>();
		const found = (id: string | undefined): Session => {
			const session = (id !== undefined && sessions.get(id)) || [...sessions.values()].at(-1);
			if (!session) throw new Error("there is no session");
			return session;
		};
		const core = new Core(`pepys-${this.#host.name}`, {
			complete: async ({ model, system, prompt, timeoutMs, session }) => {
				const { registry, model: own } = found(session);
				const chosen = model === undefined ? own : named(registry, model);
				if (!chosen) throw new Error(model === undefined ? "the session has no model" : `there is no model ${model}`);
				const answer = await this.#host.complete(registry, chosen, system, prompt, AbortSignal.timeout(timeoutMs));
				if (answer.stopReason === "error") throw new Error(answer.errorMessage ?? "the model failed");
				if (answer.stopReason === "aborted") throw new Error("the model did not answer in time");
				return { text: answer.content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("") };
			},
			confirm: async ({ title, text, session }) => ({ confirmed: await found(session).ctx.ui.confirm(title, text ?? "") }),
			edit: async ({ title, text, session }) => {
				const edited = await found(session).ctx.ui.editor(title, text);
				return edited === undefined ? {} : { text: edited };
			},
			notify: ({ level, text, session }) => {
				try {
					this.#say(found(session).ctx, [{ level, text }]);
				} catch {
					// there is nobody to tell
				}
			},
		});
		const shared = { core, sessions };
		(globalThis as any)[SHARED] = shared;
		return shared;
	}

	/**
	 * The circumstances of a call, as they are now: see CallContext. What callbacks need is kept: hosts take contexts
	 * back after some events.
	 */
	#taken(ctx: Context): Json {
		const sessions = ctx.sessionManager;
		this.#shared().sessions.set(sessions.getSessionId(), { ctx, registry: ctx.modelRegistry, model: ctx.model });
		const entryIds = sessions.getBranch().map((entry) => entry.id);
		const leafId = sessions.getLeafId();
		const file = sessions.getSessionFile();
		this.#context = {
			host: this.#host.name,
			cwd: ctx.cwd,
			currentSessionId: sessions.getSessionId(),
			sessionDirs: [sessions.getSessionDir()],
			...(file !== undefined && { sessionFile: file }),
			...(leafId === null || entryIds.includes(leafId) ? { live: { leafId, entryIds } } : {}),
			...this.#host.trusts(ctx),
			shown: true,
		};
		return this.#context;
	}

	/** Shows notices where this host shows any. What was said once is not said again, unless it was asked for. */
	#say(ctx: Context, notices: Notice[], { again = false } = {}): void {
		for (const { level, text } of notices) {
			if (!again && this.#said.has(text)) continue;
			this.#said.add(text);
			try {
				if (ctx.hasUI) ctx.ui.notify(text, level);
				else if (mode(ctx) === "print" && level === "info") console.log(text);
				else console.error(text);
			} catch {
				console.error(text); // the context is no longer valid
			}
		}
	}
}

/** Of each kind of message that Pepys puts beside prompts, a model needs the newest (spec 5, "Events"). */
function onlyTheNewest(event: { messages: { role?: string; customType?: string }[] }): Json | undefined {
	const seen = new Set<string>();
	const kept = event.messages.toReversed().filter(({ role, customType }) => {
		if (role !== "custom" || !customType?.startsWith("pepys-")) return true;
		if (seen.has(customType)) return false;
		seen.add(customType);
		return true;
	});
	return kept.length === event.messages.length ? undefined : { messages: kept.toReversed() };
}

function result(text: string, details: Json, isError = false): ToolResult {
	return { content: [{ type: "text", text }], details, ...(isError && { isError }) };
}

/** How the host runs. Pi 0.73 does not tell a terminal from a program that speaks RPC. */
function mode(ctx: Context): "tui" | "rpc" | "json" | "print" {
	return ctx.mode ?? (ctx.hasUI ? "tui" : "print");
}

function named(registry: Registry, name: string): Model | undefined {
	const slash = name.indexOf("/");
	return registry.find(name.slice(0, slash), name.slice(slash + 1));
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	await Promise.race([promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
	clearTimeout(timer);
}

function tools(): Tool[] {
	return JSON.parse(readFileSync(fileURLToPath(new URL("./tools.json", import.meta.url)), "utf8")) as Tool[];
}
