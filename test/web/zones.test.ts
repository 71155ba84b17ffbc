import { expect, it } from "vitest";
import { dayBefore, formatsOf } from "../../src/web/assets/zones.ts";

it("yesterday is the day before, where clocks are set as well", () => {
  const { day } = formatsOf("Europe/Zurich");
  expect(dayBefore(Date.parse("2027-03-29T00:30:00+02:00"), day)).toContain("28 Mar 2027");
  expect(dayBefore(Date.parse("2026-10-25T23:30:00+01:00"), day)).toContain("24 Oct 2026");
});
