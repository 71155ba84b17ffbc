import fc from "fast-check";

/**
 * Properties try the same values in each run, so that a change is not refused for what it has not done. To look for
 * others: `PROPERTY_SEED=random npx vitest run test/ground`; a failure names its seed, which `PROPERTY_SEED=<number>` repeats.
 */
const wanted = process.env.PROPERTY_SEED ?? "20261122";
if (wanted !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
