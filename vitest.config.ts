import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { folderOf } from "./scripts/postgres-builds.mjs";

/** Every migration and every statement once, and signals: `npm run test:postgres-versions` runs all tests on each version. */
const ofOldestPostgres = ["test/store/postgres/{database-clock,hostile-text,notify,random-comparison,tables}.test.ts"];
/** `npm test` fetches it. */
const oldestPostgres = folderOf(14);

/**
 * Tests that measure or change what their process is or spends, or share a browser. Each file has a process of its own. All other
 * files share a few, one after the other: starting a process and reading the same modules again costs more than most of them.
 */
const inTheirOwnProcess = [
  "test/start/relay.test.ts",
  "test/config/yaml.test.ts",
  "test/core/abort-signals.test.ts",
  "test/ground/{numbers/decimal,text/clean}.test.ts",
  "test/journey/{restarts,stop}.test.ts",
  "test/matching/judge.test.ts",
  "test/security/{cost-fuzz,growth,reading-cost}.test.ts",
  "test/web/browser/**/*.test.ts",
  // Looks at the runtime's own Response, which a server in the same process puts another in the place of.
  "test/web/pages.test.ts",
];

/** Those that take longest, longest first: one that starts last runs alone while the other processors have nothing to do. */
const longestFirst = [
  "test/conformance/postgres-store.test.ts",
  "test/security/canaries.test.ts",
  "test/workshop/demo-relays.test.ts",
  "test/web/browser/live.test.ts",
  "test/web/browser/accessibility.test.ts",
  "test/goldens/goldens.test.ts",
  "test/journey/groups.test.ts",
  "test/journey/setup.test.ts",
  "test/relays/relays.test.ts",
  "test/conformance/stores.test.ts",
  "test/web/browser/log.test.ts",
  "test/journey/held-socket.test.ts",
  "test/delivery/notices.test.ts",
  "test/store/postgres/connect.test.ts",
  "test/journey/main-job.test.ts",
  "test/cli/restore.test.ts",
  "test/start/shared-watches.test.ts",
  "test/cli/explain.test.ts",
  "test/journey/unreadable.test.ts",
  "test/store/postgres/listing.test.ts",
  "test/cli/backtest.test.ts",
  "test/delivery/proving.test.ts",
  "test/security/slow-senders.test.ts",
  "test/journey/canary.test.ts",
  "test/store/postgres/pooler.test.ts",
  "test/journey/burst.test.ts",
  "test/cli/setup.test.ts",
  "test/cli/move.test.ts",
  "test/journey/changed-file.test.ts",
  "test/watch/silence.test.ts",
  "test/journey/database-away.test.ts",
  "test/watch/usual-quiet.test.ts",
  "test/store/postgres/query-plans.test.ts",
  "test/start/relay.test.ts",
  "test/journey/crash.test.ts",
  "test/store/postgres/move-log.test.ts",
  "test/store/repair-damage.test.ts",
  "test/journey/shared-secrets.test.ts",
  "test/power/power.test.ts",
  "test/cli/doctor.test.ts",
  "test/store/postgres/migrate.test.ts",
  "test/journey/stop.test.ts",
  "test/journey/second-account.test.ts",
];

const order = ["own process", "postgres 14", "shared process"];

/** The order of a machine that has never run the tests, such as CI: vitest would start the largest files first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = longestFirst.indexOf(relative(import.meta.dirname, moduleId));
      // A process that several files share ends where one comes that needs its own, or one of another project.
      const before = order.indexOf(project.name) * (longestFirst.length + 1);
      return before + (place === -1 ? longestFirst.length : place);
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    // Only ends what hangs: no verdict hangs on how busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 240_000 } },
    // Two more than there are processors: some of the long ones mostly wait.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    setupFiles: ["property-seed", "kept-connections", "waiting-transactions"].map((name) => `test/support/${name}.ts`),
    coverage: { include: ["{src,workshop}/**/*.{ts,tsx}"] },
    projects: [
      {
        extends: true,
        test: {
          name: "own process",
          include: inTheirOwnProcess,
          globalSetup: ["test/support/postgres-set-up.ts"],
        },
      },
      ...[oldestPostgres].filter(existsSync).map((build) => ({
        extends: true as const,
        test: {
          name: "postgres 14",
          include: ofOldestPostgres,
          env: { TOCSIN_TEST_POSTGRES: build },
          globalSetup: ["test/support/postgres-set-up.ts"],
          isolate: false,
        },
      })),
      {
        extends: true,
        test: {
          name: "shared process",
          include: ["test/**/*.test.{ts,tsx}"],
          exclude: inTheirOwnProcess,
          globalSetup: ["test/support/postgres-set-up.ts"],
          isolate: false,
        },
      },
    ],
  },
});
