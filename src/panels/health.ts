import type { HealthView, Trouble } from "../contract/operations.ts";
import { cardIdOf } from "../core/destination-status.ts";
import { countOf } from "../ground/text/count-of.ts";
import type { DestinationVerdict } from "../vendors/verdict.ts";
import { actOn, resendTo } from "./destinations.ts";
import type { Action, Cell, Panel, Tone } from "./panel.ts";
import { joined, say } from "./sections.ts";

/** Green only where each part was looked at and works. */
export function describeHealth({ destinations, watches, lastAlertAt }: HealthView): { tone: Tone; text: Cell } {
  const parts = [describeDestinations(destinations), describeAccounts(watches), describeLast(lastAlertAt)];
  const tone = (["busy", "off"] as const).find((one) => parts.some((part) => part.tone === one)) ?? "good";
  const texts = parts.map(({ text }) => text);
  return { tone, text: joined(" · ", texts) };
}

interface Part {
  tone: Tone;
  text: Cell;
}

function describeDestinations(destinations: HealthView["destinations"]): Part {
  const part = (tone: Tone, words: string): Part => ({ tone, text: { link: "/destinations", text: { words } } });
  if (destinations === undefined) return part("off", "destinations were not looked at");
  const all = destinations.length;
  if (all === 0) return part("off", "no destination is configured");
  const count = (verdict: DestinationVerdict) => destinations.filter((one) => one.verdict === verdict).length;
  const [works, untried, failing] = [count("proven"), count("untried"), count("failing")];
  if (works === all) return part("good", all === 1 ? "1 destination works" : `${all} destinations work`);
  const others = [
    ...(failing > 0 ? [failing === 1 ? "1 fails" : `${failing} fail`] : []),
    ...(untried > 0 ? [`${untried} never tried`] : []),
  ].join(", ");
  const there = countOf(all, "destination");
  const words = works === 0 ? `${there}: ${others}` : `${works} of ${there} work, ${others}`;
  return part(failing > 0 ? "busy" : "off", words);
}

function describeAccounts(watches: HealthView["watches"]): Part {
  const accounts = watches.filter(({ name }) => name === "account" || name.startsWith("account:"));
  const part = (tone: Tone, words: string): Part => ({ tone, text: { link: "/setup#watches-title", text: { words } } });
  const [first] = accounts;
  if (first === undefined) return part("off", "account not watched");
  const well = accounts.filter(({ verdict }) => verdict === "well").length;
  if (accounts.length > 1) {
    const isAll = well === accounts.length;
    return part(isAll ? "good" : "off", `${isAll ? "" : `${well} of `}${accounts.length} accounts send here`);
  }
  if (well === 1) return part("good", "account sends here");
  if (first.lookedAt === undefined) return part("off", "account not asked yet");
  return part("off", first.verdict === "idle" ? "account not registered here" : "account cannot be judged");
}

function describeLast(lastAlertAt: HealthView["lastAlertAt"]): Part {
  const off = (words: string): Part => ({ tone: "off", text: { link: "/", text: { words } } });
  if (lastAlertAt === undefined) return off("last alert not known");
  if (lastAlertAt === null) return off("no alert yet");
  return { tone: "good", text: { link: "/", text: say`last alert ${{ age: lastAlertAt }}` } };
}

/** `desk is dead since 21:42 UTC · 3 not delivered` */
export function describeTrouble({ what, since, until, notes }: Trouble): Cell {
  const parts = notes.flatMap((note): Cell[] => [{ words: " · " }, note]);
  const began: Cell[] = since === undefined ? [] : [{ words: " " }, { since }];
  const ends: Cell[] = until === undefined ? [] : [{ words: " until " }, { at: until, isComing: true }];
  return [what, ...began, ...ends, ...parts];
}

/** The pages that explain the same troubles as `tocsin doctor`. */
const explained = {
  store: ["How the relay is", "/system"],
  reading: ["How the relay is", "/system"],
  spool: ["The parts of this relay", "/system"],
  lane: ["The relays", "/system#relays-title"],
  relay: ["The relays", "/system#relays-title"],
  canary: ["Why", "/silence#canary-title"],
} as const;

/** A person's actions against the trouble, the most helpful first. */
export function helpsOf({ kind, name = "", source, failed = 0, expired = 0, canPutBack }: Trouble): Action[] {
  const card = (label: string): Action => ({ label, about: name, link: `/destinations#${cardIdOf(name)}` });
  const test = actOn(name, "Test", "test", { about: `send one message to ${name}` });
  const command = `tocsin alerts resend --failed --destination ${name}`;
  const resend = failed === 0 ? [] : [{ ...resendTo(name, "Resend all …"), about: `${failed} to ${name}`, command }];
  const doctor = { command: "tocsin doctor" };
  switch (kind) {
    case "destination": {
      const again = actOn(name, "Try now", "try", { command: `tocsin destinations try ${name}` });
      return [again, test, ...resend, card("Why")];
    }
    case "undelivered":
      return [test, ...resend, ...listsOf(name, failed - expired, expired)];
    case "paused":
      return [actOn(name, "Resume", "resume", { command: `tocsin destinations resume ${name}` }), card("Its queue")];
    case "muted":
      return [{ label: "End it", post: `/mutes/${name}/end`, command: `tocsin mutes remove ${name}` }];
    case "unsteady":
      return [test, card("Why")];
    case "resending":
      return [card("Its queue")];
    case "backlog":
      if (name !== "") return [card("Its queue")];
      return [{ label: "Show them", link: "/?state=unrouted", command: "tocsin alerts list --state unrouted" }];
    case "watch": {
      const fields = source === undefined ? undefined : { source };
      if (name === "configuration") return [{ label: "What is wrong", link: "/system", command: "tocsin check" }];
      const why = { label: "Why, and what to do", link: pageOfWatch(name), ...doctor };
      return canPutBack ? [{ label: "Put back", post: "/setup/put-back", fields, ...doctor }, why] : [why];
    }
    case "silence":
      return [{ label: "What is usual", link: "/silence" }];
    default:
      return [{ label: explained[kind][0], link: explained[kind][1], ...doctor }];
  }
}

/** The log has one filter for failed deliveries and one for expired ones. */
function listsOf(name: string, failed: number, expired: number): Action[] {
  return Object.entries({ failed, expired }).flatMap(([state, count]) => {
    const label = count === failed + expired ? "Show them" : `Show ${count} ${state}`;
    const link = `/?${new URLSearchParams({ destination: name, state })}`;
    return count === 0 ? [] : [{ label, about: `not delivered to ${name}`, link }];
  });
}

function pageOfWatch(name: string): string {
  if (name === "gaps") return "/gaps";
  if (name === "disk") return "/system";
  return name.startsWith("gaps:") ? `/gaps?source=${encodeURIComponent(name.slice(5))}` : "/setup#watches-title";
}

export function healthPanel(health: HealthView): Panel {
  const [trouble] = health.troubles;
  if (trouble === undefined) {
    const { tone, text } = describeHealth(health);
    return [{ kind: "text", text: [{ chip: tone === "good" ? "✓" : "–", tone }, { words: " " }, text] }];
  }
  const command = helpsOf(trouble).find((help) => help.command !== undefined)?.command;
  const cure: Cell[] = command === undefined ? [] : [{ words: " → " }, { code: command }];
  const tone = trouble.level === "bad" ? "bad" : "busy";
  return [{ kind: "text", text: [{ chip: "✕", tone }, { words: " " }, describeTrouble(trouble), ...cure] }];
}
