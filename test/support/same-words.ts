import { runTocsin } from "./cli.ts";
import { adminToken, type RelayProcess } from "./relay-process.ts";

interface Answer {
  data?: { troubles: { what: string; notes: string[] }[] };
  /** The database is away. */
  error?: { message: string };
}

/** The cookie of a session, for pages: while the database is away nobody logs in. */
export async function logIn({ url }: Pick<RelayProcess, "url">): Promise<string> {
  const body = new URLSearchParams({ token: adminToken });
  const answer = await fetch(`${url}/login`, { method: "POST", redirect: "manual", body });
  return answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
}

/**
 * What page, `status` and `doctor` leave out of the troubles that the relay has now, or say in other words: a line each. Words
 * that change while they are read (of what still fails) are not compared.
 * @param env of the relay
 */
export async function findOtherWords(
  relay: Pick<RelayProcess, "url" | "api">,
  cookie: string,
  env: Record<string, string>,
  dataDir: string,
): Promise<string[]> {
  const readWords = async () => {
    const { data, error } = (await (await relay.api("/api/status")).json()) as Answer;
    return error === undefined ? data?.troubles.flatMap(({ what, notes }) => [what, ...notes]) : [error.message];
  };
  const before = await readWords();
  const page = await (await fetch(`${relay.url}/mutes`, { headers: { cookie } })).text();
  const own = { ...env, DATA_DIR: dataDir, PORT: new URL(relay.url).port, ADMIN_TOKEN: adminToken };
  const [status = "", doctor = ""] = await Promise.all(
    ["status", "doctor"].map(async (command) => {
      const { stdout, stderr } = await runTocsin([command], { env: own, cwd: dataDir });
      return stdout + stderr;
    }),
  );
  const after = await readWords();
  const lasting = before?.filter((words) => after?.includes(words)) ?? [];
  if (lasting.length === 0) return ["there is no trouble"];
  return Object.entries({ "the page": readHtml(page), status, doctor }).flatMap(([where, text]) =>
    lasting.filter((words) => !text.includes(words)).map((words) => `${where} does not say: ${words}`),
  );
}

const readHtml = (html: string) =>
  html
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
