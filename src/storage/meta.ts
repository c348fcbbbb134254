/** Note of the operator: the next sweep removes bytes that no row names, however many. */
export const LOSS_ACCEPTED = 'sweep_loss_accepted'
/** Number of files that the last sweep kept although no row names them. */
export const SWEEP_HELD = 'sweep_held'

/** Single facts about this gateway. */
export interface MetaStore {
  /** Returns the UUID of the node; undefined before the first `claimNodeId`. */
  nodeId(): Promise<string | undefined>
  /** Stores `nodeId` as the UUID of the node unless it has one. Returns the UUID of the node. */
  claimNodeId(nodeId: string): Promise<string>
  /** Returns the latest recorded time, µs; 0 for none. */
  lastSeenUs(): Promise<number>
  /** Records a time. A time before the recorded one changes nothing. */
  recordTime(us: number): Promise<void>
  /** Returns a fact by its name; undefined for an unknown name. */
  noted(name: string): Promise<string | undefined>
  note(name: string, value: string): Promise<void>
}
