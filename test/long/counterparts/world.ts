import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { listen, pause, type Scope } from "../../relays/scope.ts";
import { sendAtRate } from "../../support/posting.ts";
import { type RelayProcess, startRelayProcess } from "../../support/relay-process.ts";

/** A row of the table. */
export interface Result {
  counterpart: string;
  tried: string;
  sent: number;
  accepted: number;
  arrived: number;
  doubled: number;
  faults: string[];
}

export type Desk = Awaited<ReturnType<typeof startDesk>>;
export type World = ReturnType<typeof createWorld>;

export function createWorld(scope: Scope) {
  // Programs read it as users of their own.
  const folder = mkdtempSync(join(tmpdir(), "tocsin-counterparts-"));
  scope.atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  spawn("chmod", ["755", folder]);
  return {
    ...{ scope, folder },
    startDesk: () => startDesk(scope),
    /** In a folder of its own name, which is kept when it is started again. @param yaml its configuration */
    startRelay(name: string, yaml: string, env: Record<string, string>) {
      const dataDir = join(folder, name);
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(join(dataDir, "tocsin.yaml"), yaml);
      return startRelayProcess(dataDir, env, undefined, undefined, scope.atEnd);
    },
    /** A program that stays. */
    startProgram(name: string, command: string, args: string[], options: { uid?: number; gid?: number } = {}) {
      const child = spawn(command, args, { ...options, cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
      child.on("error", (error) => console.log(`${name}: ${error.message}`));
      const ended = once(child, "exit");
      scope.atEnd(async () => {
        if (child.exitCode !== null || child.pid === undefined) return;
        child.kill("SIGTERM");
        await Promise.race([ended, pause(5_000)]);
        child.kill("SIGKILL");
      });
      return child;
    },
    /** A file of the folder. @returns its path */
    write(name: string, text: string) {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o644 });
      return path;
    },
  };
}

/** The webhook destination `desk`: ids of alerts, once for each message that had them, and texts of messages and of notices. */
async function startDesk(scope: Scope) {
  const desk = { ids: [] as string[], notices: [] as string[], texts: [] as string[] };
  const url = await listen(scope, async (request, response) => {
    const { type, data } = (await json(request)) as {
      type: string;
      data: { severity?: string; text: string; alerts?: { id: string }[] };
    };
    if (type === "notice") desk.notices.push(`${data.severity}: ${data.text}`);
    else {
      for (const { id } of data.alerts ?? []) desk.ids.push(id);
      desk.texts.push(data.text);
    }
    response.writeHead(204).end();
  });
  return { ...desk, url: `${url}/` };
}

/** The configuration of a relay that sends all to the desk. */
export const toDesk = ({ url }: Desk, more = "") =>
  `destinations:\n  desk: { type: webhook, url: "${url}", allowInternal: ["127.0.0.1"], notices: true }\n${more}`;

export interface Sent {
  sent: number;
  /** Ids of those that were answered 202. */
  accepted: string[];
  /** How the others were answered, with how often. */
  refused: Record<string, number>;
}

/** Posts an alert every `everyMs` until it is ended. None is sent again. */
export function sendAlerts({ atEnd }: Scope, url: string, everyMs: number): { end(): Promise<Sent> } {
  const result: Sent = { sent: 0, accepted: [], refused: {} };
  const post = async (serial: number) => {
    const title = `A${String(serial).padStart(6, "0")}Z`;
    result.sent += 1;
    const count = (what: string) => {
      result.refused[what] = (result.refused[what] ?? 0) + 1;
    };
    try {
      // A key of its own for each: nothing here is a repeat of another.
      const body = JSON.stringify({ title, metricKey: title, severity: "info" });
      const answer = await fetch(url, { method: "POST", body, headers: { connection: "close" } });
      const { data } = (await answer.json().catch(() => ({}))) as { data?: { id: string } };
      if (answer.status === 202 && data !== undefined) result.accepted.push(data.id);
      else count(String(answer.status));
    } catch (error) {
      count(String((error as { cause?: { code?: string } }).cause?.code ?? error));
    }
  };
  const sending = sendAtRate(1_000 / everyMs, post, atEnd);
  return { end: () => sending.stop().then(() => result) };
}

/**
 * Asks relays twice a second how they are, with the admin token, until it is aborted: each of `paths` has to be 200, and within a
 * second of what `/healthz`, which needs nothing, takes at the same moment on a machine that is busy.
 */
export async function watchProbes(
  relays: readonly RelayProcess[],
  paths: readonly string[],
  stop: AbortSignal,
  onFault: (what: string) => void,
): Promise<void> {
  const take = async (relay: RelayProcess, path: string) => {
    const startedAt = performance.now();
    const answer = await relay.api(path).catch(() => undefined);
    return { status: answer?.status ?? 0, tookMs: performance.now() - startedAt };
  };
  while (!stop.aborted) {
    for (const relay of relays) {
      const [alive, ...asked] = await Promise.all(["/healthz", ...paths].map((path) => take(relay, path)));
      for (const [index, { status, tookMs }] of asked.entries()) {
        const isLate = tookMs - (alive?.tookMs ?? 0) > 1_000;
        if (status !== 200 || isLate) onFault(`${paths[index]} ${status} after ${Math.round(tookMs)} ms`);
      }
    }
    await pause(500);
  }
}

/** The counts of a row; nothing that was answered 202 may be lost, or come twice. */
export function judge({ sent, accepted, refused }: Sent, arrivedIds: readonly string[]) {
  const arrived = new Set(arrivedIds);
  const lost = accepted.filter((id) => !arrived.has(id)).length;
  const doubled = arrivedIds.length - arrived.size;
  const faults = [
    ...(lost > 0 ? [`${lost} lost`] : []),
    ...(doubled > 0 ? [`${doubled} doubled`] : []),
    ...Object.entries(refused).map(([what, count]) => `${count} refused (${what})`),
  ];
  return { sent, accepted: accepted.length, arrived: arrived.size, doubled, faults };
}

/** A file of `deploy/` with what is the machine's own replaced. */
export function readExample(name: string, replacements: readonly [RegExp | string, string][]): string {
  const text = readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), "utf8");
  return replacements.reduce((changed, [what, by]) => {
    const next = changed.replaceAll(what, by);
    if (next === changed) throw new Error(`deploy/${name} has no ${what}`);
    return next;
  }, text);
}
