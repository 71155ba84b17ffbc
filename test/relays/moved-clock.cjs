// Preloaded by a relay whose machine's clock is to be wrong: by `CLOCK_AHEAD_MS`, in each of its threads.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const Right = Date;

globalThis.Date = class extends Right {
  constructor(...given) {
    if (given.length === 0) super(Right.now() + aheadMs);
    else super(...given);
  }

  static now() {
    return Right.now() + aheadMs;
  }
};
