/** Where an account sends its alerts. */
export interface Outputs {
  /** Null: no webhook. May hold a secret. */
  webhookUrl: string | null;
  messengerChannelId: string | null;
}

/**
 * The account as an answer of the alerting service describes it. A member that the answer leaves out or that cannot be read is
 * absent. Absent does not mean that the output is off.
 */
export interface AccountReading extends Partial<Outputs> {
  id?: string;
  name?: string;
  /** Epoch milliseconds. */
  keyExpiresAt?: number;
}

/** Calls of the service about the account. Each may throw an `AppError` of an `upstream_…` code. */
export interface AccountService {
  /** Reads as much of the answer as possible. Throws when it is no account at all. */
  lookAtAccount(options?: { signal?: AbortSignal }): Promise<AccountReading>;
  /** An absent member stays unchanged, `null` turns that output off. */
  setAlertOutputs(change: Partial<Outputs>, options?: { signal?: AbortSignal }): Promise<unknown>;
}

/** The outputs that this relay's setup has set or found. The account is compared with them. */
export interface Registration {
  accountId: string;
  /** The public address of this relay then: the webhook's address without `/hooks/` and the secret. */
  publicUrl: string;
  /** Setup has turned the webhook off, so no alert is expected. */
  webhookOff?: boolean;
  /** Absent: the service did not say. */
  messengerChannelId?: string | null;
  /** Epoch milliseconds. */
  at: number;
}
