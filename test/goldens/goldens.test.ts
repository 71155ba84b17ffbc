import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { createGoldenWorld, type GoldenWorld } from "./world.ts";

/**
 * What the API, the pages and the commands, with `--json` and for people, say of one log with everything in it, byte for byte. After a wanted change:
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
    Object.entries(answers).flatMap(([call, { status }]) => (status < 300 ? [call.replace(/<[^<>]+>/g, "id")] : [])),
  );
  const missing = Object.entries(document.paths).flatMap(([path, methods]) => {
    const pattern = path.replace(/\{\w+\}/g, "[^/]+");
    const isAsked = (method: string) =>
      asked.some((call) => new RegExp(`^${method.toUpperCase()} ${pattern}([ ?]|$)`).test(call));
    return Object.keys(methods).flatMap((method) => (isAsked(method) ? [] : [`${method} ${path}`]));
  });
  expect(missing).toEqual([]);
});

async function make(call: string): Promise<Answer> {
  if (call.startsWith("page ")) return look(call.slice(5));
  return call.includes("tocsin ") ? run(call) : ask(call);
}

/**
 * A page as who is logged in gets it, an element on each line: its title and what is its own. The first page shows what stands around
 * it. Charts have goldens of their own.
 */
async function look(path: string): Promise<Answer> {
  const ask = async () => {
    const answer = await world.page(path);
    return { status: answer.status, page: await answer.text() };
  };
  let { status, page } = await ask();
  // Older bars are counted while others are asked.
  while (page.includes("data-counting")) ({ status, page } = await ask());
  const html = page
    .replace(/<svg.*?<\/svg>/gs, (svg) => svg.slice(0, svg.indexOf(">") + 1))
    .replace(/(name="form_token" value=")[^"]+/g, "$1<form token>")
    .replace(/(\/assets\/[a-z-]+-)[0-9a-f]{12}/g, "$1<hash>")
    .replace(/(data-version=")\d+/g, "$1<version>")
    .replace(/(tocsin\.yaml<\/code> \(<bdi>)[0-9a-f]{12}/g, "$1<hash>");
  const [title = ""] = /<title>.*<\/title>/.exec(html) ?? [];
  const own = path === "/" ? html : title + html.slice(html.indexOf("<main"));
  return { status, lines: own.split(/\n|(?<=>)(?=<(?!\/))/) };
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

const withoutOutcome = (name: string, value: unknown): unknown =>
  ["state", "reason", "dueAt", "finishedAt"].includes(name) ? undefined : value;

async function readFirstEvent({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return value ?? "";
}

async function run(call: string): Promise<Answer> {
  const [, name, value = "", line = "", forPeople] = /^(?:([A-Z_]+)=(\S+) )?tocsin (.*?)( \| text)?$/.exec(call) ?? [];
  const argv = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  if (forPeople === undefined) argv.push("--json");
  const { status, stdout, stderr } = await world.run(argv, name === undefined ? {} : { [name]: value });
  return { status, stdout: readable(stdout), ...(stderr !== "" && { stderr: readable(stderr) }) };
}
