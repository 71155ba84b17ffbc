import type { AlertFacts } from "./alert.ts";

const conditionNames =
  /(?:^|\.)(?:condition(?:\.(?:kind|type|operator|mode))?|condition_?type|operator|comparator|comparison)$/i;

/**
 * Whether the sender says that the threshold is one of a change ("change_percent", 2.5) and not of the value itself: then
 * 3305 USD is not "above 2.5", and the value's unit is not the threshold's.
 */
export function limitsChange({ fields }: Partial<Pick<AlertFacts, "fields">>): boolean {
  return (fields ?? []).some(
    ({ name, value }) => conditionNames.test(name) && /change|percent|pct|moved|deviat/i.test(value),
  );
}
