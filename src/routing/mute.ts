import { AppError } from "../core/errors.ts";
import type { Mute } from "../core/rules.ts";
import { compileMatchers, type Match, type MatchInput } from "../matching/judge.ts";

export interface MuteVerdict {
  /** The mute that holds longest of those that match. */
  mute?: { id: string; reason: string };
  /** Mutes that could not be read. They silence nothing, because a broken mute must not cost an alert; this says so. */
  notes: string[];
}

export type FindMute = (input: MatchInput, mutes: Mute[], now: number) => MuteVerdict;

const rememberedMutes = 500;

/** Mutes come from the store with every alert; what has been compiled is remembered by its matchers. */
export function createMuteFinder(): FindMute {
  const compiled = new Map<string, Match>();

  function compile(mute: Mute): Match {
    const key = JSON.stringify(mute.matchers);
    const known = compiled.get(key);
    if (known !== undefined) return known;
    if (compiled.size >= rememberedMutes) compiled.clear();
    const match = compileMatchers(mute.matchers);
    compiled.set(key, match);
    return match;
  }

  return (input, mutes, now) => {
    const notes: string[] = [];
    const found: { mute: Mute; why: string }[] = [];
    for (const mute of mutes) {
      if (now < mute.startsAt || now >= mute.endsAt) continue;
      try {
        const { matched, reason } = compile(mute)(input);
        if (matched) found.push({ mute, why: reason });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        notes.push(`mute ${mute.id} was ignored (${error.message})`);
      }
    }
    const longest = found.sort((a, b) => b.mute.endsAt - a.mute.endsAt)[0];
    if (longest === undefined) return { notes };
    const until = describeInstant(longest.mute.endsAt);
    return {
      mute: {
        id: longest.mute.id,
        reason: `muted until ${until}: ${longest.mute.reason} (${longest.why})`,
      },
      notes,
    };
  };
}

/** `2026-11-21 12:00 UTC`. */
export function describeInstant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
