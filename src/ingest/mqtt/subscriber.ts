import { encodeSubscribe, encodeUnsubscribe, type Subscription } from './encode.js'
import { type ProtocolVersion, reasonText, type SubscriptionAnswer } from './packets.js'

export interface SubscriberDeps {
  readonly version: ProtocolVersion
  /** Returns the subscriptions that are wanted now. */
  wanted(): readonly Subscription[]
  /** filters of the session at the broker, which outlives this process */
  readonly kept: {
    read(): readonly string[]
    /** Notes the filters; called before one is added and after one is removed. */
    note(filters: readonly string[]): void
  }
}

/** Subscriptions of one connection. */
export interface Subscriber {
  /** Subscribes to what is wanted, and ends subscriptions of earlier settings. */
  begin(isSessionPresent: boolean): void
  /** Subscribes to what is wanted now and was not, and ends what is not wanted any more. */
  refresh(): void
  answered(answer: SubscriptionAnswer): void
  /** number of filters that the broker has granted */
  granted(): number
  /** refusals of the broker, by filter */
  refusals(): ReadonlyMap<string, string>
}

interface Link {
  send(bytes: Uint8Array): void
  nextPacketId(): number
}

/** Most filters in one packet. */
const PER_PACKET = 100
const REFUSED = 128

/** Creates the subscriptions of a connection. */
export function createSubscriber({ version, wanted, kept }: SubscriberDeps, link: Link): Subscriber {
  const asked = new Map<number, readonly Subscription[]>()
  const ending = new Map<number, readonly string[]>()
  const refusals = new Map<string, string>()
  const granted = new Set<string>()
  /** text of each subscription that was asked for */
  const known = new Map<string, string>()

  const subscribe = (subscriptions: readonly Subscription[]) => {
    const filters = subscriptions.map(({ filter }) => filter)
    kept.note([...new Set([...kept.read(), ...filters])])
    for (const part of inParts(subscriptions)) {
      const id = link.nextPacketId()
      asked.set(id, part)
      link.send(encodeSubscribe(version, id, part))
    }
    for (const one of subscriptions) known.set(one.filter, JSON.stringify(one))
  }
  const unsubscribe = (filters: readonly string[]) => {
    for (const part of inParts(filters)) {
      const id = link.nextPacketId()
      ending.set(id, part)
      link.send(encodeUnsubscribe(version, id, part))
    }
    for (const filter of filters) {
      known.delete(filter)
      refusals.delete(filter)
      granted.delete(filter)
    }
  }
  const refresh = () => {
    const now = wanted()
    const filters = new Set(now.map(({ filter }) => filter))
    const gone = kept.read().filter((filter) => !filters.has(filter))
    const fresh = now.filter((one) => known.get(one.filter) !== JSON.stringify(one))
    if (gone.length > 0) unsubscribe(gone)
    if (fresh.length > 0) subscribe(fresh)
  }
  return {
    begin(isSessionPresent) {
      if (!isSessionPresent) kept.note([])
      refresh()
    },
    refresh,
    answered({ packetId, reasons }) {
      const ended = ending.get(packetId)
      if (ended !== undefined) {
        ending.delete(packetId)
        kept.note(kept.read().filter((filter) => known.has(filter) || !ended.includes(filter)))
        return
      }
      for (const [at, { filter, qos }] of (asked.get(packetId) ?? []).entries()) {
        const reason = reasons[at] ?? REFUSED
        if (reason < REFUSED) granted.add(filter)
        if (reason >= REFUSED) refusals.set(filter, `the broker refuses ${filter}: ${reasonText(reason)}`)
        else if (reason < qos)
          refusals.set(filter, `the broker grants ${filter} QoS ${reason}, expected ${qos}`)
        else refusals.delete(filter)
      }
      asked.delete(packetId)
    },
    granted: () => granted.size,
    refusals: () => refusals,
  }
}

function inParts<T>(list: readonly T[]): (readonly T[])[] {
  const parts: (readonly T[])[] = []
  for (let at = 0; at < list.length; at += PER_PACKET) parts.push(list.slice(at, at + PER_PACKET))
  return parts
}
