import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { createGoldenWorld, type GoldenWorld } from "./world.ts";

/**
 * What the API and `--json` of the commands say of one log with everything in it, byte for byte. After a wanted change:
 * `npx vitest run test/goldens -u`; then read the difference of the recorded files as you read code.
 */
const { files, groups } = parse(readFileSync(new URL("calls.yaml", import.meta.url), "utf8")) as {
  files: Record<string, string>;
  groups: Record<string, string[]>;
};
const recorded: Record<string, Record<string, Answer>> = {};
let world: GoldenWorld;

interface Answer {
  /** Of HTTP, or the exit status. */
  status: number;
  [part: string]: unknown;
}

beforeAll(async () => {
  world = await createGoldenWorld();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(world.dataDir, name), text);
  for (const [group, calls] of Object.entries(groups)) {
    if (group === "commands-without-relay") await world.stopRelay();
    const moves = /changes|without/.test(group);
    const answers: Record<string, Answer> = {};
    recorded[group] = answers;
    for (const call of calls) {
      if (call in answers) throw new Error(`${call} is asked twice`);
      const answer = make(world.withIds(call));
      answers[call] = await (moves ? world.passTimeUntil(answer) : answer);
      if (moves) await world.step(30_000);
    }
  }
});
afterAll(() => world?.close());

it.each(Object.keys(groups))("answers as recorded: %s", async (group) => {
  const text = world.settled(`${JSON.stringify(recorded[group], undefined, 2)}\n`);
  await expect(text).toMatchFileSnapshot(`recorded/${group}.json`);
});

it("asks every route of the API with success", () => {
  const document = recorded["api-document"]?.["GET /api/openapi.json"]?.body as { paths: Record<string, object> };
  const asked = Object.values(recorded).flatMap((answers) =>
    Object.entries(answers).flatMap(([call, { status }]) =>
      status < 300
        ? [
            call
              .replace(/<[^<>]+>/g, "id")
              .split(/[? ]/, 2)
              .join(" "),
          ]
        : [],
    ),
  );
  const missing = Object.entries(document.paths).flatMap(([path, methods]) => {
    const pattern = path.replace(/\{\w+\}/g, "[^/]+");
    const isAsked = (method: string) =>
      asked.some((call) => new RegExp(`^${method.toUpperCase()} ${pattern}$`).test(call));
    return Object.keys(methods).flatMap((method) => (isAsked(method) ? [] : [`${method} ${path}`]));
  });
  expect(missing).toEqual([]);
});

async function make(call: string): Promise<Answer> {
  return call.includes("tocsin ") ? run(call) : ask(call);
}

/** JSON as it is, and anything else line by line, so that a difference can be read. */
function readable(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.split("\n");
  }
}

async function ask(call: string): Promise<Answer> {
  const [request = "", header] = call.split(" | ");
  const [, method, path = "", body] = /^(\S+) (\S+) ?(.*)$/.exec(request) ?? [];
  const headers: Record<string, string> = body ? { "content-type": "application/json" } : {};
  const [name, value] = header?.split(/: ?/) ?? [];
  if (name !== undefined) headers[name] = value ?? "";
  const response = await world.api(path, { method, headers, body: body || undefined });
  const type = response.headers.get("content-type");
  const text = type?.startsWith("text/event-stream") ? await readFirstEvent(response) : await response.text();
  // It is sent while the answer is made.
  const isSent = path.endsWith("/test") && response.ok;
  return { status: response.status, type, body: isSent ? JSON.parse(text, withoutOutcome) : readable(text) };
}

function withoutOutcome(name: string, value: unknown): unknown {
  return ["state", "reason", "dueAt", "finishedAt"].includes(name) ? undefined : value;
}

async function readFirstEvent({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return value ?? "";
}

async function run(call: string): Promise<Answer> {
  const [, name, value = "", line = ""] = /^(?:([A-Z_]+)=(\S+) )?tocsin (.*)$/.exec(call) ?? [];
  const argv = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  const { status, stdout, stderr } = await world.run(argv, name === undefined ? {} : { [name]: value });
  return { status, stdout: readable(stdout), ...(stderr !== "" && { stderr: readable(stderr) }) };
}
