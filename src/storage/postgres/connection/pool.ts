import type { Connection } from './connection.js'
import { faultKind } from './faults.js'
import type { PrimaryFinder } from './primary.js'
import { createSlots } from './slots.js'

/** Connections to the primary. */
export interface Pool {
  /** Lends a connection to `work`. One that failed under it is not lent again. */
  lend<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Leaves the primary if another host has replaced it, which it does not know while it is cut off. */
  leaveReplaced(): Promise<void>
  /** Ends the connections, those that are lent when they come back. A second call does nothing. */
  close(): Promise<void>
}

/** Creates a pool, without a connection yet. */
export function createPool(
  finder: PrimaryFinder,
  { connections, waitMs }: { connections: number; waitMs: number },
): Pool {
  const slots = createSlots(connections, waitMs)
  const ends = new Set<Promise<void>>()
  let idle: Connection[] = []
  /** grows when the primary may be another one; connections of before are not lent again */
  let round = 0
  let isClosed = false

  const end = (connection: Connection) => {
    const ended = connection.close().finally(() => ends.delete(ended))
    ends.add(ended)
  }
  const take = async (): Promise<Connection> => {
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (!connection.isBroken()) return connection
      end(connection)
    }
    return await finder.connect()
  }
  const leavePrimary = () => {
    round++
    for (const connection of idle) end(connection)
    idle = []
  }
  return {
    async lend(work) {
      if (isClosed) throw new Error('found a closed pool of connections, expected an open one')
      await slots.take()
      try {
        const of = round
        const connection = await take()
        try {
          return await work(connection)
        } catch (error) {
          const kind = faultKind(error)
          if (of === round && (kind === 'not primary' || kind === 'lost')) leavePrimary()
          throw error
        } finally {
          if (connection.isBroken() || of !== round || isClosed) end(connection)
          else idle.push(connection)
        }
      } finally {
        slots.give()
      }
    },
    async leaveReplaced() {
      if (!isClosed && (await finder.isReplaced())) leavePrimary()
    },
    async close() {
      isClosed = true
      leavePrimary()
      await Promise.all(ends)
    },
  }
}
