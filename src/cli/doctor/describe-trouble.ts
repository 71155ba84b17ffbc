import type { Said } from "../../contract/api.ts";
import type { Trouble } from "../../contract/operations.ts";
import { helpsOf } from "../../panels/health.ts";
import { toSeconds } from "../shell/amounts.ts";
import type { Finding } from "./finding.ts";

/** What is wrong, in the words of the page and of `status`. */
export function describeTrouble(trouble: Trouble, status?: Said<"readStatus">): Finding {
  const { kind, level, name, what, since, notes, reason } = trouble;
  const began = since === undefined ? "" : ` since ${toSeconds(since)}`;
  return {
    check: checkNames[kind]?.(name) ?? (name === undefined ? "routing" : `deliveries to ${name}`),
    verdict: level === "bad" ? "problem" : "warning",
    detail: [`${what}${began}${reason === undefined ? "" : `: ${reason}`}`, ...notes].join(" · "),
    mend: mendOf(trouble, status),
  };
}

/** Of what is about no delivery. */
const checkNames: Partial<Record<Trouble["kind"], (name?: string) => string>> = {
  store: () => "database",
  spool: () => "spool",
  reading: () => "reading",
  lane: () => "relays",
  relay: () => "relays",
  watch: (name = "watch") => name,
  canary: () => "canary",
  silence: (name) => (name === undefined ? "silence" : `silence of ${name}`),
};

function mendOf(trouble: Trouble, status: Said<"readStatus"> | undefined): string | undefined {
  const { kind, name, what, reason } = trouble;
  const commands = helpsOf(trouble).flatMap(({ command }) => (command === "tocsin doctor" ? [] : (command ?? [])));
  switch (kind) {
    case "watch": {
      const lines = status?.watches.find((watch) => watch.name === name)?.troubles ?? [];
      return lines.map((line) => line.split(`${what}. `).at(-1)).join(" ") || undefined;
    }
    case "canary":
      if (status?.canary?.stage === "routed") return "see: tocsin status";
      return status?.canary?.stage === "body"
        ? "let the proxy pass the bodies of /hooks/ as they come"
        : "see what is found at the public URL, and whether it leads to this relay";
    case "silence":
      return "see whether the sender still sends to this address; if the quiet is meant, mute it at Silence on the page";
    case "destination":
      return `see below what the destination itself says; when it is put right: ${commands.join(", then: ")}`;
    case "relay":
      return reason === undefined
        ? "restart it with the newer one; to go back, restart all of them with the former one"
        : "its log says more";
    case "store":
      return status?.disk.damage === undefined ? undefined : "see whether the database is damaged: tocsin backup FILE";
    default:
      return commands.length === 0 ? undefined : `run: ${commands.join(", then: ")}`;
  }
}
