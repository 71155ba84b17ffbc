import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";

/** `tocsin mutes remove`: from now on what it silenced is sent again; what it kept back is not sent later. */
export async function removeMute(run: RelayRun, id: string): Promise<void> {
  const { client } = await connectRelay(run);
  await client.endMute(id);
  await run.output.result(
    { id, ended: true },
    () =>
      "Ended. Matching alerts are sent again from now on; what it has silenced can be sent with: tocsin alerts resend\n",
  );
}
