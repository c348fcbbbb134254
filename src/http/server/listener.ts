import type { IncomingMessage, ServerResponse } from 'node:http'
import { lightRequest } from './light-request.js'
import { type ResponseParts, responseParts } from './light-response.js'

/** A web handler, such as hono's `app.fetch`, with Node's own request and response beside the web's. */
export type Fetch = (
  request: Request,
  env: { incoming: IncomingMessage; outgoing: ServerResponse },
) => Response | Promise<Response>

/**
 * Makes a listener of Node's server out of a web handler.
 *
 * @param refuse response to a request that is no valid HTTP, or whose handler failed
 */
export function createListener(fetch: Fetch, refuse: (error: unknown) => Response) {
  return async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    let response: Response
    try {
      response = await fetch(lightRequest(incoming, outgoing), { incoming, outgoing })
    } catch (error) {
      response = refuse(error)
    }
    try {
      await send(responseParts(response) ?? (await readParts(response)), outgoing)
    } catch (error) {
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/** Parts of a response that a library made: of the resumable uploads, or of hono for HEAD. Their bodies are short. */
async function readParts(response: Response): Promise<ResponseParts> {
  const { status, headers, body } = response
  return {
    status,
    headers: Object.fromEntries(headers),
    body: body === null ? null : new Uint8Array(await response.arrayBuffer()),
  }
}

async function send({ status, headers, body }: ResponseParts, outgoing: ServerResponse): Promise<void> {
  if (body === null) outgoing.writeHead(status, headers).end()
  else if (body instanceof ReadableStream) {
    outgoing.writeHead(status, headers)
    outgoing.flushHeaders()
    await pump(body, outgoing)
  } else {
    const hasLength = 'Content-Length' in headers || 'content-length' in headers
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
    outgoing.writeHead(status, hasLength ? headers : { ...headers, 'Content-Length': length }).end(body)
  }
}

/** Writes a stream as fast as the client reads it. A connection that closes cancels the stream. */
async function pump(stream: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = stream.getReader()
  let resume: () => void = () => undefined
  const onClose = () => {
    resume()
    void reader.cancel().catch(() => undefined) // the source reports its own faults
  }
  outgoing.on('close', onClose).on('drain', () => resume())
  if (outgoing.destroyed) onClose()
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    if (outgoing.destroyed) return
    if (outgoing.write(step.value)) continue
    await new Promise<void>((resolve) => {
      resume = resolve
    })
  }
  outgoing.off('close', onClose)
  if (!outgoing.destroyed) outgoing.end()
}
