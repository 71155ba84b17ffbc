/** What every destination has, with the defaults of the configuration. */
export const destinationBase = (name: string) => ({
  name,
  timeZone: "UTC",
  onAmbiguous: "retry" as const,
  digestOver: 10,
  pace: {},
  definedAt: "tocsin.yaml:12",
});
