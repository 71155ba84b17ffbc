import { describe, expect, it } from "vitest";
import { createPicturePlan, type PicturePlanDeps } from "../../src/delivery/plan/plan-picture.ts";
import { fullFacts, makeAlert, makeContext } from "../rendering/sample.ts";

const desk = { name: "desk", chart: true, timeZone: "Europe/Zurich" };
const linkTo = (id: string, { name, timeZone }: { name: string; timeZone: string }) =>
  `https://tocsin.test/pictures/${id}?${timeZone}&${name}`;
const alert = makeAlert({ facts: fullFacts });
const url = `https://tocsin.test/pictures/${alert.id}?Europe/Zurich&desk`;

function plan(changes: Partial<PicturePlanDeps> = {}) {
  return createPicturePlan({ hasRecords: true, sources: new Set(["second"]), linkTo, ...changes });
}

describe("a picture that a message is composed with", () => {
  it("is an address where somebody else fetches it, and no more than words where the channel brings it", () => {
    expect(plan()(alert, makeContext(), desk, "linked")).toEqual({ url, alt: `Value over time: ${alert.facts.title}` });
    expect(plan()(alert, makeContext(), desk, "inline")).toEqual({ alt: expect.stringContaining("Value over time") });
  });

  it("is none where it is not wanted, or the channel shows none", () => {
    expect(plan()(alert, makeContext(), { ...desk, chart: false }, "linked")).toBeUndefined();
    expect(plan()(alert, makeContext(), { ...desk, chart: undefined }, "inline")).toBeUndefined();
    expect(plan()(alert, makeContext(), desk, undefined)).toBeUndefined();
  });

  it("is none for notices and tests, and for what has no value", () => {
    for (const origin of ["notice", "test"] as const)
      expect(plan()({ ...alert, origin }, makeContext(), desk, "inline")).toBeUndefined();
    expect(plan()(alert, makeContext({ purpose: "test" }), desk, "inline")).toBeUndefined();
    for (const value of [undefined, "", "down", "24.3 M"]) {
      const without = makeAlert({ facts: { ...fullFacts, value } });
      expect(plan()(without, makeContext(), desk, "inline")).toBeUndefined();
    }
  });

  it("is none where nothing but this value can be known: without a record, and the first of its key", () => {
    const others = [
      { deps: { hasRecords: false }, facts: fullFacts },
      { deps: {}, facts: { ...fullFacts, metric: "TVL" } },
      { deps: {}, facts: { ...fullFacts, source: "second" } },
    ];
    for (const { deps, facts } of others) {
      const own = makeAlert({ facts });
      expect(plan(deps)(own, makeContext(), desk, "inline")).toBeUndefined();
      expect(plan(deps)(own, makeContext({ hasEarlier: true }), desk, "inline")).toBeDefined();
      expect(plan(deps)(own, makeContext({ resolvedBy: makeAlert({ facts }) }), desk, "inline")).toBeDefined();
    }
    const named = makeAlert({ facts: { ...fullFacts, source: "whatever a sender calls itself" } });
    expect(plan()(named, makeContext(), desk, "inline")).toBeDefined();
  });

  it("is of the alert that resolves, in a message that is edited for it", () => {
    const resolvedBy = makeAlert({ id: "01939a5c-1b2d-7c3e-8f4a-000000000002", facts: fullFacts });
    expect(plan()(alert, makeContext({ resolvedBy }), desk, "linked")?.url).toContain(resolvedBy.id);
  });

  it("is none where there is no address", () => {
    expect(plan({ linkTo: () => undefined })(alert, makeContext(), desk, "linked")).toBeUndefined();
    expect(plan({ linkTo: undefined })(alert, makeContext(), desk, "linked")).toBeUndefined();
  });
});
