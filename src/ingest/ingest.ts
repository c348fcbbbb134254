import { type LineDeps, type LineStatus, startLine } from './line.js'

/** Parts of the gateway that lines and their common parts need. */
export interface IngestDeps extends LineDeps {
  /** Calls a listener after each write of this process. Returns a function that ends it. */
  watchWrites(listener: () => void): () => void
}

/** Brokers that the gateway reads from and publishes to. */
export interface Ingest {
  /** Returns how each broker is, by its name. */
  status(): Promise<ReadonlyMap<string, LineStatus>>
  /** An answer waits in the outbox of some broker. */
  wake(): void
  /** Stores what is being stored, and ends the connections. */
  stop(): Promise<void>
}

/** Starts the clients of all brokers. */
export async function startIngest(deps: IngestDeps): Promise<Ingest> {
  const { brokers } = deps.settings.mqtt
  const noted = await deps.store.brokers()
  const names = new Set(brokers.map(({ name }) => name))
  for (const { name } of noted) if (!names.has(name)) await deps.store.forgetBroker(name)
  const lines = brokers.map((settings) =>
    startLine(
      deps,
      settings,
      noted.find(({ name }) => name === settings.name),
    ),
  )
  const unwatch = deps.watchWrites(() => {
    for (const line of lines) line.wake()
  })
  return {
    async status() {
      const found = new Map<string, LineStatus>()
      for (const line of lines) found.set(line.name, await line.status())
      return found
    },
    wake() {
      for (const line of lines) line.wake()
    },
    async stop() {
      unwatch()
      await Promise.all(lines.map((line) => line.stop()))
    },
  }
}
