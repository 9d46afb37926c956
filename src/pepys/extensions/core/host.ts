/** What Pepys uses of the hosts' extension interfaces, as far as it is the same in both, and where they differ. */
import type { Json } from "./core.ts";

export interface Model {
	provider: string;
	id: string;
	cost?: { input?: number; output?: number };
}

export interface Registry {
	getAvailable(): Model[] | Promise<Model[]>;
	find(provider: string, id: string): Model | undefined;
}

export interface Component {
	render(width: number): string[];
	handleInput(data: string): void;
	invalidate(): void;
	dispose?(): void;
}

export interface Screen {
	requestRender(): void;
	terminal: { rows: number };
}

export interface Ui {
	notify(text: string, level: "info" | "warning" | "error"): void;
	confirm(title: string, text: string): Promise<boolean>;
	editor(title: string, text: string): Promise<string | undefined>;
	custom(make: (screen: Screen, theme: unknown, keys: unknown, done: (value: unknown) => void) => Component): Promise<unknown>;
}

export interface Context {
	cwd: string;
	/** Newer than Pi 0.73. */
	mode?: "tui" | "rpc" | "json" | "print";
	hasUI: boolean;
	ui: Ui;
	model?: Model | undefined;
	modelRegistry: Registry;
	sessionManager: {
		getSessionId(): string;
		getSessionDir(): string;
		getSessionFile(): string | undefined;
		getLeafId(): string | null;
		getBranch(): { id: string; type?: string; mode?: string }[];
	};
	/** Newer than Pi 0.73. */
	isProjectTrusted?(): boolean;
	/** Of commands. */
	waitForIdle?(): Promise<void>;
}

export interface ToolResult {
	content: { type: "text"; text: string }[];
	details: Json;
	structuredContent?: Json;
	isError?: boolean;
}

export interface Extension {
	on(event: string, handler: (event: any, ctx: Context) => unknown): unknown;
	registerTool(tool: {
		name: string;
		label: string;
		description: string;
		parameters: Json;
		execute(
			id: string,
			params: Json,
			signal: AbortSignal | undefined,
			onUpdate: ((partial: ToolResult) => void) | undefined,
			ctx: Context,
		): Promise<ToolResult>;
		[more: string]: unknown;
	}): void;
	registerCommand(
		name: string,
		command: {
			description: string;
			handler(args: string, ctx: Context): Promise<void>;
			getArgumentCompletions?(prefix: string): { value: string; label: string }[] | null;
		},
	): void;
	getAllTools(): { name: string; sourceInfo?: { path?: string } }[];
	sendUserMessage(text: string): unknown;
}

/** A tool as `tools.json` has it. */
export interface Tool {
	name: string;
	label: string;
	description: string;
	parameters: Json;
	outputSchema?: Json;
	sequential: boolean;
	annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
}

/** Where the hosts differ. */
export interface Host {
	name: "pi" | "omp";
	/** Path of the file that the host loads. */
	entry: string;
	/**
	 * What the host calls the end of a run, and whether this one is its last word. "waits": and whether its entry is
	 * waited for, because nothing can be asked of a model afterwards.
	 */
	settled: Record<string, (event: any, ctx: Context) => boolean | "waits">;
	/** What it calls another session in the same instance of the extension. */
	switched: string[];
	/** How long the end of a session may be held up, in ms; none of it is left to the host's own limit. */
	shutdownMs: number;
	/** Whether the session is a sub-agent's: it has the tools, and no memory of its own. */
	isSubAgent(ctx: Context): boolean;
	/** Whether nothing may be changed now, and the host leaves it to tools to know. */
	isPlanning(ctx: Context): boolean;
	/** What a tool says beside its name, label, description and parameters. */
	tool(tool: Tool): Json;
	/** The result of `before_agent_start` that appends *text* to the system prompt. */
	systemPrompt(event: any, text: string): Json;
	/** Whether the host trusts the project, and whether it does so without having asked; nothing where it has no answer. */
	trusts(ctx: Context): { trusted?: boolean; unasked?: boolean };
	/** What *model* says to *prompt*. */
	complete(registry: Registry, model: Model, system: string, prompt: string, signal: AbortSignal): Promise<Answer>;
}

/** An answer as both hosts' model layers give it. */
export interface Answer {
	content: { type: string; text?: string }[];
	stopReason?: string;
	errorMessage?: string;
}
