import type { createOgcService } from '../../ogc/answer.js'
import type { OgcRequest } from '../../ogc/types.js'
import type { ReadHandler } from '../../worker/read-host.js'
import type { Readers } from '../../worker/reader-pool.js'

/** A request of OGC API as it crosses threads. */
interface OgcRead extends Omit<OgcRequest, 'query' | 'signal'> {
  readonly query: string
}

/** Facts about an answer before its first byte. */
interface OgcHead {
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
}

const OGC_READ = 'ogc'

/** Returns the reads of OGC API, for a reader thread. */
export function ogcReads(service: ReturnType<typeof createOgcService>): Record<string, ReadHandler> {
  return {
    async [OGC_READ]({ query, ...request }: OgcRead, { signal }) {
      const { type, headers, body } = await service.answer({
        ...request,
        query: new URLSearchParams(query),
        signal,
      })
      const head: OgcHead = { type, headers }
      return { head, text: typeof body === 'string' ? once(body) : body }
    },
  }
}

/** Returns the answerer of OGC API that has a reader thread make each answer. */
export function ogcByReaders(readers: Readers) {
  return async ({ query, signal, owner, ...request }: OgcRequest & { readonly owner: string }) => {
    const read: OgcRead = { ...request, query: query.toString() }
    const { head, text } = await readers.read(OGC_READ, read, { signal, owner })
    return { ...(head as OgcHead), body: text } // made by `ogcReads`
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}
