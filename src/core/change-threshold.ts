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

/** Whether a unit multiplies the value before it ("M USD", "bn"): a threshold beside it may stand in single units or not. */
export function multiplies(unit: string | undefined): boolean {
  return /^\s*(?:k|thousand|m|mn|mm|million|b|bn|billion|t|tn|trillion)(?![\p{L}\p{N}])/iu.test(unit ?? "");
}
