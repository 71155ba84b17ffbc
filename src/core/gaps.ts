/** How certain it is that an alert is missing. What it cannot tell stands beside the list, see `UnknownGap`. */
export const gapVerdicts = ["sure", "likely"] as const;
export type GapVerdict = (typeof gapVerdicts)[number];

/** An alert that should have come and is not in the log. */
export interface MissingAlert {
  verdict: GapVerdict;
  /** Of the rule that should have sent it: the subscription's id, or made of metric and condition. */
  rule: string;
  metricKey: string;
  /** `above 3300`, `moved 2.5 % in 15 min`. */
  condition: string;
  /** What it would have said: that the condition began to hold, or ended. */
  status: "firing" | "resolved";
  /** The records before and after the crossing: it was due between the two. Epoch milliseconds. */
  fromAt: number;
  toAt: number;
  before: number;
  after: number;
  /** Why it is missing, and what speaks against it where it is no more than likely. One sentence. */
  reason: string;
  /** The relay did not run then. */
  whileDown: boolean;
}

/** What the check cannot tell, and why. */
export interface UnknownGap {
  /** A subscription, a metric, or the whole. */
  what: string;
  /** One clause for people. */
  why: string;
}

/** Epoch milliseconds. */
export interface GapWindow {
  /** Default: as far back as the service has records, seven days. */
  since?: number;
  /** Default: now. */
  until?: number;
}

/** Time in which the relay did not run, as far as its store shows. */
export interface Downtime {
  fromAt: number;
  toAt: number;
}

/** What one check has found. */
export interface GapReport {
  since: number;
  until: number;
  checkedAt: number;
  downtimes: Downtime[];
  /** The newest first. */
  missing: MissingAlert[];
  unknown: UnknownGap[];
  /** Rules that were followed, and crossings that the records show, with how many of them brought an alert. */
  rules: number;
  crossings: number;
  answered: number;
  /** The longest usual time between two records: what happens and ends within it is not seen. Absent: no records. */
  recordEveryMs?: number;
}
