import { countRefused, type SourceView } from "../contract/operations.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import type { Card, Cell, Section } from "./panel.ts";
import { factsOf, say } from "./sections.ts";

/** A named hook, with the facts of the configuration and of a running relay. */
export interface KnownSource {
  name: string;
  /** The address for its sender, with or without the secret. */
  address?: string;
  /** The number of former addresses that are still accepted. */
  former?: number;
  /** The checks of its sender. Empty: knowing the address is enough. Absent: unknown. */
  checks?: readonly string[];
  definedAt?: string;
  /** Absent: no relay was asked. */
  view?: SourceView;
}

/** In the order of the configuration. `isOpen`: a terminal gives each fact a row of its own. */
export function sourcesPanel(sources: readonly KnownSource[], { isOpen = false } = {}): Section | false {
  if (sources.length === 0) return false;
  return {
    kind: "cards",
    title: "Sources",
    id: "sources-title",
    intro: say`Each has an address of its own (${{ code: "sources" }} in the configuration). What comes by it is called by its name.`,
    isOpen,
    cards: sources.map(sourceCard),
  };
}

function sourceCard({ name, address, former = 0, view, checks = view?.checks, definedAt }: KnownSource): Card {
  return {
    name,
    panel: [
      factsOf([
        ["address", address !== undefined && [{ code: address }, former > 0 && { words: ` (and ${former} former)` }]],
        ["its sender proves itself by", checks && (checks.length === 0 ? "this address alone" : checks.join(" and "))],
        ["accepted", view && describeAccepted(view)],
        ["refused", view && describeRefused(view)],
        ["defined at", definedAt],
      ]),
    ],
  };
}

const lastOf = (at: number | undefined): Cell => at !== undefined && say`, the last ${{ at }}`;

function describeAccepted({ name, accepted, lastAcceptedAt }: SourceView): Cell {
  const link = `/?source=${encodeURIComponent(name)}`;
  return say`${{ link, text: { words: countOf(accepted, "request") } }} since the start${lastOf(lastAcceptedAt)}`;
}

function describeRefused(view: SourceView): Cell {
  const count = countRefused(view);
  if (view.checks.length === 0 && count === 0) return undefined;
  const link = `/refused?source=${encodeURIComponent(view.name)}`;
  const words = `${groupThousands(count)} since the start`;
  return [{ link, text: { words } }, lastOf(view.lastRefusedAt)];
}
