export interface Outputs {
  /** Null: no webhook. May hold a secret. */
  webhookUrl: string | null;
  messengerChannelId: string | null;
}

/** A member is absent where the service's answer lacks it. That does not mean that the output is off. */
export interface AccountReading extends Partial<Outputs> {
  id?: string;
  name?: string;
  /** Epoch milliseconds. */
  keyExpiresAt?: number;
}

/** Each call may throw an `AppError` with an `upstream_…` code. */
export interface AccountService {
  /** Reads as much of the answer as possible. Throws when the answer is no account. */
  lookAtAccount(options?: { signal?: AbortSignal }): Promise<AccountReading>;
  /** An absent member stays unchanged. `null` turns the output off. */
  setAlertOutputs(change: Partial<Outputs>, options?: { signal?: AbortSignal }): Promise<unknown>;
}

/** The outputs that setup has set or found. The account is compared with them. */
export interface Registration {
  accountId: string;
  /** The webhook's address of then, without `/hooks/` and the secret. */
  publicUrl: string;
  /** Setup has turned the webhook off. No alert is expected. */
  webhookOff?: boolean;
  /** Absent: the service did not say it. */
  messengerChannelId?: string | null;
  /** Epoch milliseconds. */
  at: number;
}
