/** Pepys in OMP, 18 and later. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { extension } from "../core/extension.ts";
import type { Context, Model, Registry } from "../core/host.ts";

interface OmpRegistry extends Registry {
	getApiKeyAndHeaders(model: Model): Promise<{ ok: boolean; error?: string; apiKey?: string; headers?: object }>;
}

export default extension({
	name: "omp",
	entry: fileURLToPath(import.meta.url),
	settled: {
		agent_end: (event, ctx) => event.willContinue !== true && ctx.hasUI,
		// Without a person the process ends at once after agent_end; this one it waits for.
		session_stop: (_, ctx) => (ctx.hasUI ? false : "waits"),
	},
	switched: ["session_switch", "session_branch"],
	// OMP gives handlers of session_shutdown two seconds, and then ends.
	shutdownMs: 1_700,
	isSubAgent: (ctx) => {
		const { agent } = ctx as Context & { agent?: { kind: string } }; // newer than 18.2
		const file = ctx.sessionManager.getSessionFile();
		return agent ? agent.kind === "sub" : file !== undefined && existsSync(`${dirname(file)}.jsonl`);
	},
	isPlanning: (ctx) => ctx.sessionManager.getBranch().findLast((entry) => entry.type === "mode_change")?.mode === "plan",
	tool: ({ annotations }) => ({
		loadMode: "essential", // an ordinary tool, no device
		approval: annotations.readOnlyHint ? "read" : "write",
	}),
	systemPrompt: (event, text) => ({ systemPrompt: [...event.systemPrompt, text] }),
	trusts: () => ({}), // OMP never asks: `pepys trust` decides
	complete: async (registry, model, systemPrompt, prompt, signal) => {
		const key = await (registry as OmpRegistry).getApiKeyAndHeaders(model);
		if (!key.ok) throw new Error(key.error ?? "the model has no key");
		// @ts-ignore: the host's own module, which is not there before
		const { completeSimple } = await import("@mariozechner/pi-ai");
		const conversation = { systemPrompt: [systemPrompt], messages: [{ role: "user", content: prompt, timestamp: Date.now() }] };
		return completeSimple(model, conversation, { signal, apiKey: key.apiKey, headers: key.headers });
	},
});
