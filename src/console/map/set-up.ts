import { addProtocol, setWorkerUrl } from 'maplibre-gl'
import { readAnswer, request, rpcFault } from '../core/rpc.js'
import { PROTOCOL } from './style.js'

declare const __MAP_WORKER__: string

let isSetUp = false

/**
 * Sets the library up once: its worker file is served by the gateway, and tiles are requested with the
 * session's header.
 */
export function setUpLibrary(): void {
  if (isSetUp) return
  isSetUp = true
  setWorkerUrl(new URL(`/console/${__MAP_WORKER__}`, location.origin).href)
  addProtocol(PROTOCOL, async ({ url }, { signal }) => {
    const response = await request(url.slice(`${PROTOCOL}://`.length), { signal })
    if (response.ok) return { data: await response.arrayBuffer() }
    const { error } = await readAnswer(response)
    throw rpcFault(response.status, error ?? { code: 0, message: `Found HTTP ${response.status}` })
  })
}
