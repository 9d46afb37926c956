/** An extension of somebody else that has a tool of the same name. */
export default function (pi: any) {
	pi.registerTool({
		name: "session_recall",
		label: "Another recall",
		description: "Not of Pepys",
		loadMode: "essential",
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "the other one answers" }], details: {} }),
	});
}
