/** A message, or a reading of a device, that could not be stored. */
export interface Reject {
  /** grows with each reject */
  readonly seq: number
  /** µs UTC */
  readonly atUs: number
  /** name of the broker, or of the bus */
  readonly broker: string
  /** topic, or name of the device */
  readonly topic: string
  /** what was found, and what was expected */
  readonly reason: string
  /** first bytes of the payload */
  readonly payload: Uint8Array
  /** bytes of the whole payload */
  readonly payloadBytes: number
}

/** Counters of a broker since the gateway started, and how it is connected. */
export interface BrokerStatus {
  readonly isConnected: boolean
  /** when `isConnected` changed last, µs UTC */
  readonly sinceUs: number
  /** why it is not, or was last not, connected; null before the first failure */
  readonly lastError: string | null
  /** what keeps messages from being stored or subscribed to: a full disk, a table that does not exist */
  readonly faults: readonly string[]
  /** what may go wrong: rows without a key can be there twice */
  readonly warnings: readonly string[]
  readonly messages: number
  readonly rows: number
  /** rows whose key existed */
  readonly repeats: number
  readonly rejects: number
  readonly published: number
  readonly reconnects: number
  /** times that the broker had forgotten the session */
  readonly lostSessions: number
  /** messages that wait to be stored */
  readonly waiting: number
  /** changes of tables and answers that wait to be published */
  readonly unpublished: number
}

/** Status of a broker as it was last noted. */
export interface NotedBroker {
  readonly name: string
  /** filters of its session */
  readonly filters: readonly string[]
  /** null before the first note */
  readonly status: BrokerStatus | null
  /** µs UTC; null before the first note */
  readonly notedAtUs: number | null
}

/** Counters of a Modbus bus since the gateway started, and how it is connected. */
export interface BusStatus extends Pick<BrokerStatus, 'isConnected' | 'sinceUs' | 'faults'> {
  /** why the connection ended, or could not be opened, last; null before the first time */
  readonly lastError: string | null
  /** what has gone wrong, or will: readings that are left out, rows that were lost */
  readonly warnings: readonly string[]
  readonly readings: number
  /** readings that failed, with all their repetitions */
  readonly failures: number
  readonly rows: number
  /** rows whose key existed */
  readonly repeats: number
  readonly rejects: number
  /** rows that gave way to newer ones while none could be stored */
  readonly lost: number
  /** rows that wait to be stored */
  readonly waiting: number
}

/** Status of a bus as it was last noted. */
export interface NotedBus {
  readonly name: string
  readonly status: BusStatus
  /** µs UTC */
  readonly notedAtUs: number
}

/** Position up to which the changes of a table are published. */
export interface PublishCursor {
  readonly tableId: number
  readonly change: number
}

/** A message that waits for its broker. */
export interface OutboxMessage {
  readonly seq: number
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1
  readonly isRetained: boolean
}

/** State of the ingest of messages and readings that outlasts restarts. */
export interface IngestStore {
  /** Adds messages that could not be stored; beyond `maxRows` the oldest are removed. */
  addRejects(rejects: readonly Omit<Reject, 'seq'>[], maxRows: number): Promise<void>
  /** Returns the newest first. @param broker absent for those of all */
  listRejects(limit: number, broker?: string): Promise<Reject[]>
  countRejects(): Promise<number>
  /** Removes all. @returns their number */
  clearRejects(): Promise<number>
  /** Returns every noted broker by name, also those that the settings name no more. */
  brokers(): Promise<NotedBroker[]>
  noteFilters(broker: string, filters: readonly string[]): Promise<void>
  noteStatus(broker: string, status: BrokerStatus, nowUs: number): Promise<void>
  /** Removes what is noted of a broker that the settings name no more. */
  forgetBroker(broker: string): Promise<void>
  /** Returns every noted bus by name, also those that the settings name no more. */
  buses(): Promise<NotedBus[]>
  noteBus(name: string, status: BusStatus, nowUs: number): Promise<void>
  /** Removes what is noted of a bus that the settings name no more. */
  forgetBus(name: string): Promise<void>
  /** @param name of a rule that publishes; undefined before the first `noteCursor` */
  cursor(name: string): Promise<PublishCursor | undefined>
  noteCursor(name: string, cursor: PublishCursor): Promise<void>
  /** Adds a message for a broker; beyond `maxRows` the oldest are removed. @returns number of removed ones */
  addToOutbox(broker: string, message: Omit<OutboxMessage, 'seq'>, maxRows: number): Promise<number>
  /** Returns the oldest messages of a broker. */
  outboxOf(broker: string, limit: number): Promise<OutboxMessage[]>
  removeFromOutbox(seqs: readonly number[]): Promise<void>
  countOutbox(broker: string): Promise<number>
}
