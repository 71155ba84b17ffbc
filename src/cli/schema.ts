import { command } from "./command.ts";

export const schema = command({
  name: "schema",
  summary: "the JSON Schema of tocsin.yaml, for editors",
  says: "the JSON Schema of tocsin.yaml: editors that read it complete, explain and check each option",
  examples: ["tocsin schema > tocsin.schema.json"],
  async run(_, { output }) {
    const { configJsonSchema } = await import("../config/file.ts");
    const json = configJsonSchema();
    await output.result(json, () => `${JSON.stringify(json, null, 2)}\n`);
  },
});
