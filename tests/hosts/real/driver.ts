/**
 * What no host has one command for in all modes: /drive {"tree": ENTRY} navigates to an entry, /drive {"compact": true}
 * compacts. The outcome is shown: "driven" and the job, or why not.
 */
export default function (pi: any) {
	pi.registerCommand("drive", {
		description: "For tests",
		handler: async (args: string, ctx: any) => {
			const job = JSON.parse(args) as { tree?: string; compact?: boolean };
			const compacted = () =>
				new Promise((resolve, reject) => {
					const given = ctx.compact({ onComplete: resolve, onError: reject });
					given?.then(resolve, reject);
				});
			try {
				if (job.tree) await ctx.navigateTree(job.tree, { summarize: false });
				if (job.compact) await compacted();
				await new Promise((resolve) => setTimeout(resolve, 300)); // OMP draws its screen anew then
				ctx.ui.notify(`driven ${args}`, "info");
			} catch (error) {
				ctx.ui.notify(`not driven: ${error}`, "error");
			}
		},
	});
}
