import { anything, type PatternNode, parsePattern } from "./parse-pattern.ts";

/** Repeats with a larger bound count as without one: 1,000 times 1,000 is as bad as endless. */
const smallBound = 12;

interface State {
  bits: bigint;
  /** The pattern is complete here whatever follows, so that nothing behind it is ever tried in vain. */
  isFinal: boolean;
  next: Map<number, number>;
}

interface Ends {
  first: { state: number; before: bigint }[];
  last: number[];
  /** Those in `last` behind which nothing can fail any more. */
  sure: number[];
  isNullable: boolean;
  isSurelyNullable: boolean;
  /** What may stand before, where it takes nothing. */
  before: bigint;
}

/**
 * Why a back-tracking engine may take more than linear time to search a text for the pattern; undefined when it cannot.
 *
 * The pattern becomes an automaton that starts anew at each character. Time is linear when the number of ways in which
 * a text can be read stays bounded. It grows with the text in exactly two cases (Weber and Seidl, "On the degree of
 * ambiguity of finite automata", 1991): a loop that reads one text in two ways, and two loops, the second behind the
 * first, that read the same text each and on the way from one to the other. A way that ends in a match is no way to be
 * tried again. Look-aheads count as passed and as failed.
 */
export function findAmbiguity(source: string, flags = ""): string | undefined {
  const states: State[] = [];
  let isAmbiguous = false;

  function addState(bits: bigint): number {
    states.push({ bits, isFinal: false, next: new Map() });
    return states.length - 1;
  }

  function link(from: number, to: number): void {
    const next = (states[from] as State).next;
    const ways = (next.get(to) ?? 0) + 1;
    next.set(to, ways);
    if (ways > 1) isAmbiguous = true;
  }

  function build(node: PatternNode): Ends {
    switch (node.kind) {
      case "set": {
        const state = addState(node.bits);
        return {
          ...nothing(),
          first: [{ state, before: anything }],
          last: [state],
          sure: [state],
          isNullable: false,
          isSurelyNullable: false,
        };
      }
      case "assertion": {
        const body = node.body === undefined ? undefined : build(node.body);
        return { ...nothing(), first: body?.first ?? [], isSurelyNullable: false, before: node.before ?? anything };
      }
      case "choice":
        return node.options.map(build).reduce((one, other) => ({
          first: [...one.first, ...other.first],
          last: [...one.last, ...other.last],
          sure: [...one.sure, ...other.sure],
          isNullable: one.isNullable || other.isNullable,
          isSurelyNullable: one.isSurelyNullable || other.isSurelyNullable,
          before: one.before | other.before,
        }));
      case "sequence":
        return node.parts.map(build).reduce(append, nothing());
      case "repeat":
        return buildRepeat(node);
    }
  }

  function append(one: Ends, other: Ends): Ends {
    for (const from of one.last) for (const { state } of other.first) link(from, state);
    const entered = other.first.map(({ state, before }) => ({ state, before: before & one.before }));
    return {
      first: one.isNullable ? [...one.first, ...entered] : one.first,
      last: other.isNullable ? [...one.last, ...other.last] : other.last,
      sure: other.isSurelyNullable ? [...one.sure, ...other.sure] : other.sure,
      isNullable: one.isNullable && other.isNullable,
      isSurelyNullable: one.isSurelyNullable && other.isSurelyNullable,
      before: one.before & other.before,
    };
  }

  function buildRepeat({ min, max, part }: Extract<PatternNode, { kind: "repeat" }>): Ends {
    const isEndless = max > smallBound;
    let all = nothing();
    for (let copy = 0; copy < Math.min(min, smallBound); copy += 1) all = append(all, build(part));
    if (isEndless) return append(all, optional(loop(build(part))));
    let rest = nothing();
    for (let copy = min; copy < max; copy += 1) rest = optional(append(build(part), rest));
    return append(all, rest);
  }

  function loop(ends: Ends): Ends {
    for (const from of ends.last) for (const { state } of ends.first) link(from, state);
    return ends;
  }

  const whole = build(parsePattern(source, flags));
  for (const state of whole.sure) (states[state] as State).isFinal = true;
  if (!flags.includes("y")) addSearch(whole);
  if (isAmbiguous) return "a repeat within a repeat reads the same text";

  function addSearch({ first }: Ends): void {
    const search = addState(anything);
    link(search, search);
    for (const { state, before } of first) {
      if (before === 0n) continue;
      if (before === anything) link(search, state);
      else {
        const gate = addState(before);
        link(search, gate);
        link(gate, state);
      }
    }
  }

  return findLoops(states);
}

function nothing(): Ends {
  return { first: [], last: [], sure: [], isNullable: true, isSurelyNullable: true, before: anything };
}

function optional(ends: Ends): Ends {
  return { ...ends, isNullable: true, isSurelyNullable: true };
}

function findLoops(states: State[]): string | undefined {
  const reach = states.map((_, from) => reachable(states, from));
  const looped = states.flatMap((state, at) => (reach[at]?.has(at) === true && !state.isFinal ? [at] : []));
  for (const p of looped) {
    if (meets(states, [p, p], [p, p], ([a, b]) => a !== b)) return `a loop reads ${show(states, p)} in two ways`;
    for (const q of looped) {
      if (p === q || reach[p]?.has(q) !== true) continue;
      if (meets(states, [p, p, q], [p, q, q], () => true))
        return `${show(states, p)} and ${show(states, q)} behind it read the same text`;
    }
  }
  return undefined;
}

function reachable(states: State[], from: number): Set<number> {
  const seen = new Set<number>();
  const open = [from];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const next of states[state]?.next.keys() ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return seen;
}

/** Whether one text leads from each of `from` to each of `to` at once, by a way on which `passes` holds somewhere. */
function meets(states: State[], from: number[], to: number[], passes: (at: number[]) => boolean): boolean {
  const target = to.join();
  const seen = new Set<string>();
  const open: { at: number[]; passed: boolean }[] = [{ at: from, passed: false }];
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    for (const at of steps(states, here.at)) {
      const passed = here.passed || passes(at);
      const key = `${at.join()} ${passed}`;
      if (seen.has(key)) continue;
      seen.add(key);
      if (passed && at.join() === target) return true;
      open.push({ at, passed });
    }
  }
  return false;
}

function* steps(states: State[], at: number[], bits = anything): Generator<number[]> {
  const [first, ...others] = at;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const next of states[first]?.next.keys() ?? []) {
    const common = bits & (states[next]?.bits ?? 0n);
    if (common === 0n) continue;
    for (const rest of steps(states, others, common)) yield [next, ...rest];
  }
}

function show(states: State[], at: number): string {
  return at === states.length - 1 || (states[at] as State).bits === anything ? "the search" : `loop ${at}`;
}
