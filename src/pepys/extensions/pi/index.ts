/** Pepys in Pi, 0.73 and later. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { extension } from "../core/extension.ts";
import type { Answer, Context, Model, Registry } from "../core/host.ts";

/** Section of Pi's system prompt; shown to the model as a tag. */
const SECTION = "pepys_memory";

/** What makes Pi ask whether a project is trusted. Of one without any of it, it says yes. */
const ASKED_OF = [
	...["settings.json", "mcp.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"].map(
		(name) => join(".pi", name),
	),
	join(".agents", "skills"),
];

interface PiRegistry extends Registry {
	/** Newer than 0.73. */
	complete?(model: Model, conversation: object, options: object): Promise<Answer>;
	getApiKeyAndHeaders(model: Model): Promise<{ ok: boolean; error?: string; apiKey?: string; headers?: object }>;
}

export default extension({
	name: "pi",
	entry: fileURLToPath(import.meta.url),
	// 0.73 has no event for "nothing follows any more"; its context has no mode either.
	settled: {
		agent_settled: () => true,
		agent_end: (_, ctx: Context) => ctx.mode === undefined,
	},
	switched: [], // each session has an instance of its own
	shutdownMs: 15_500,
	isSubAgent: () => false,
	isPlanning: () => false, // extensions that plan look at the annotations
	tool: ({ label, sequential, annotations, outputSchema }) => ({
		promptSnippet: label,
		executionMode: sequential ? "sequential" : "parallel",
		annotations,
		...(outputSchema && { outputSchema }),
	}),
	systemPrompt: (event, text) => {
		const sections = event.systemPromptOptions?.sections;
		if (sections === undefined) return { systemPrompt: `${event.systemPrompt}\n\n${text}` };
		sections[SECTION] = text;
		return {};
	},
	trusts: (ctx) => {
		const trusted = ctx.isProjectTrusted?.();
		if (trusted === undefined) return {};
		return { trusted, unasked: !ASKED_OF.some((name) => existsSync(join(ctx.cwd, name))) };
	},
	complete: async (registry, model, systemPrompt, prompt, signal) => {
		const conversation = { systemPrompt, messages: [{ role: "user", content: prompt, timestamp: Date.now() }] };
		const { complete, getApiKeyAndHeaders } = registry as PiRegistry;
		if (complete) return complete.call(registry, model, conversation, { signal });
		const key = await getApiKeyAndHeaders.call(registry, model);
		if (!key.ok) throw new Error(key.error ?? "the model has no key");
		// @ts-ignore: the host's own module, which is not there before
		const { completeSimple } = await import("@mariozechner/pi-ai");
		return completeSimple(model, conversation, { signal, apiKey: key.apiKey, headers: key.headers });
	},
});
