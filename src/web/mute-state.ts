import type { Condition, Matcher, Mute } from "../core/rules.ts";

export type MuteState = "active" | "coming" | "ended";

export function muteStateOf(mute: Pick<Mute, "startsAt" | "endsAt">, now: number): MuteState {
  if (now >= mute.endsAt) return "ended";
  return now >= mute.startsAt ? "active" : "coming";
}

/** A matcher in the words of the command line, one text for each condition: `severity=critical`, `value>=5`. */
export function describeMatcher({ field, condition }: Matcher): string[] {
  return Object.entries(condition).flatMap(([key, value]) =>
    value === undefined ? [] : [`${field}${describeCondition(key as keyof Condition, value)}`],
  );
}

function describeCondition(key: keyof Condition, value: NonNullable<Condition[keyof Condition]>): string {
  const text = Array.isArray(value) ? value.join(",") : String(value);
  switch (key) {
    case "equals":
      return `=${text}`;
    case "not":
      return `!=${text}`;
    case "lt":
      return `<${text}`;
    case "lte":
      return `<=${text}`;
    case "gt":
      return `>${text}`;
    case "gte":
      return `>=${text}`;
    case "matches":
      return `=~${text}`;
    case "exists":
      return value === true ? " exists" : " is missing";
    default:
      return key satisfies never;
  }
}
