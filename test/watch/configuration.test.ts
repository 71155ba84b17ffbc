import { expect, it } from "vitest";
import { openConfigurationWatch } from "../../src/watch/configuration.ts";
import { second, startWatchWorld } from "./watch-world.ts";

it("tells once that the file is gone, and not while an editor puts another in its place", async () => {
  let onDisk: "same" | "gone" = "same";
  const configFile = "/etc/tocsin.yaml";
  const configuration = () => ({ file: configFile, onDisk });
  const { watch, clock, told } = await startWatchWorld((deps) =>
    openConfigurationWatch({ configFile }, { ...deps, configuration }),
  );
  const leave = async (state: typeof onDisk, ms: number) => {
    onDisk = state;
    await clock.advance(ms);
  };
  await leave("gone", 3 * second);
  await leave("same", 10 * second);
  expect(told).toEqual([]);
  await leave("gone", 60 * second);
  expect(told).toMatchObject([{ title: "The configuration file is gone, or cannot be read", severity: "warning" }]);
  const then = "The configuration that was read before stays in force. The next start cannot use the file.";
  expect(told[0]?.text).toBe(`/etc/tocsin.yaml\n${then}`);
  const troubles = [`The configuration file is gone, or cannot be read. ${then}`];
  expect(watch.view()).toMatchObject({ verdict: "trouble", troubles });
  await leave("same", 10 * second);
  expect(told.slice(1)).toMatchObject([{ title: "The configuration file on disk is in force", status: "resolved" }]);
});
