/** The comparison for the hook: the same Hono, which reads the JSON, stores nothing and answers 202. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const app = new Hono();
app.post("/hooks/:secret", async (context) => {
  const body: unknown = await context.req.json();
  return context.json({ data: { id: "00000000-0000-7000-8000-000000000000", duplicate: body === undefined } }, 202);
});
const port = Number(process.env.PORT);
serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, () => console.log("ready"));
