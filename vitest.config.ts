import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.{ts,tsx}"],
    // Only ends what hangs: no verdict hangs on how busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    coverage: { include: ["src/**/*.{ts,tsx}"] },
  },
});
