/** Switches and figures of the outbox, shared with command-line programs that run beside the gateway. */
export interface SyncControl {
  isPaused(): Promise<boolean>
  setPaused(isPaused: boolean): Promise<void>
  /** Returns the number of `askNow` calls so far: a changed number asks for a try now. */
  wakeCount(): Promise<number>
  askNow(): Promise<void>
  /** Returns the measured rate of the last transfers, bytes per second; 0 if none was measured. */
  rate(): Promise<number>
  setRate(bytesPerSecond: number): Promise<void>
  /**
   * Returns a number that changes when another program has written to the database. Polled every second:
   * cheap.
   */
  changeCount(): Promise<number>
}
