/** One turn of one rule (its condition began, or ended): crossings that no outage explains, and the answered ones. */
export interface Past {
  due: number;
  answered: number;
  /** Unanswered crossings so brief that the service may not have seen them. They are not in `due`. */
  unseen: number;
}

/** Both turns of a rule, the judged one first. */
export type Turns = readonly [Pick<Past, "due" | "answered">, Pick<Past, "due" | "answered">];

/** Counted as if seen already, so a few real ones change the estimate only a little. */
const priorCrossings = { due: 100, lost: 0.5 };
const priorRules = { all: 10, spotty: 1 };
const rounds = 6;

/**
 * Learns how rules behave. Each rule is one of two things:
 * - steady: it reports each crossing, and now and then the service loses an alert. The share of these, the noise, is
 *   the same for all rules: P(k of n answered) = (1 - noise)^k * noise^(n - k).
 * - spotty: it reports some, since it rests after an alert, has hours or is looked at seldom. For each of its turns
 *   each rate is as likely as the next, a Beta(1, 1): P(k of n answered, in this order) = k! (n - k)! / (n + 1)!. The
 *   next is then unanswered with (n - k + 1) / (n + 2).
 * A rule's own past shows which of the two it is. The noise and the share of spotty rules are learned from all rules,
 * by a few rounds of expectation and maximisation. A turn that was never answered says nothing and stays out. Pure.
 */
export function learnHabits(rules: readonly Turns[]) {
  const seen = rules.map(withAnswers).filter((turns) => turns.length > 0);
  let noise = priorCrossings.lost / priorCrossings.due;
  let spottyShare = priorRules.spotty / priorRules.all;
  let [due, lost] = [priorCrossings.due, priorCrossings.lost];

  function isSpotty(turns: readonly Turns[0][]): number {
    let steady = Math.log(1 - spottyShare);
    let spotty = Math.log(spottyShare);
    for (const { due: n, answered: k } of turns) {
      steady += k * Math.log(1 - noise) + (n - k) * Math.log(noise);
      spotty += logFactorial(k) + logFactorial(n - k) - logFactorial(n + 1);
    }
    return 1 / (1 + Math.exp(steady - spotty));
  }

  for (let round = 0; round < rounds; round += 1) {
    [due, lost] = [priorCrossings.due, priorCrossings.lost];
    let spotty = priorRules.spotty;
    for (const turns of seen) {
      const share = isSpotty(turns);
      spotty += share;
      for (const turn of turns) {
        due += (1 - share) * turn.due;
        lost += (1 - share) * (turn.due - turn.answered);
      }
    }
    noise = lost / due;
    spottyShare = spotty / (priorRules.all + seen.length);
  }
  return {
    /** The chance that a crossing of the first turn brings no alert because its rule is spotty. `turns` exclude it. */
    ofRule: (turns: Turns) =>
      (isSpotty(withAnswers(turns)) * (turns[0].due - turns[0].answered + 1)) / (turns[0].due + 2),
    /** The share of alerts that the service loses. @param isCounted the judged crossing is one of the `rules` */
    noise: (isCounted: boolean) => (isCounted ? Math.max(priorCrossings.lost, lost - 1) / (due - 1) : noise),
  };
}

function withAnswers(turns: Turns): Turns[0][] {
  return turns.filter(({ answered }) => answered > 0);
}

const logFactorials = [0];
function logFactorial(n: number): number {
  for (let next = logFactorials.length; next <= n; next += 1) {
    logFactorials.push((logFactorials[next - 1] as number) + Math.log(next));
  }
  return logFactorials[n] as number;
}
