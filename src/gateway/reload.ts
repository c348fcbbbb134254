import type { Config } from '../config/config.js'
import type { HttpServer } from '../http/server/server.js'
import { readTls, watchTls } from '../http/server/tls-pair.js'
import type { Log } from '../log.js'
import type { MapLoading } from './maps/maps.js'

/**
 * Takes over what can change while serving: map files and the TLS pair.
 *
 * @returns paths of the settings that differ and need a restart
 * @throws Error in one line when the certificate or its key cannot be used
 */
export async function reload(
  current: Config,
  next: Config,
  { server, maps }: { server: HttpServer; maps: MapLoading },
): Promise<string[]> {
  await maps.reload()
  return reloadTls(current, next, server)
}

/**
 * Takes over the TLS pair.
 *
 * @returns paths of the settings that differ and need a restart
 * @throws Error in one line when the certificate or its key cannot be used
 */
function reloadTls(current: Config, next: Config, server: HttpServer): string[] {
  const tls = readTls(next.server)
  if (tls !== null && current.server.tlsCertFile !== undefined) server.setTls(tls)
  return changedPaths(current, next).filter((path) => !path.startsWith('server.tls'))
}

/**
 * Uses a renewed certificate as soon as its files change. A pair that does not match is logged and the old
 * one kept: the other file may follow.
 *
 * @returns a function that stops watching
 */
export function renewTlsOnChange(config: Config, server: HttpServer, log: Log): () => void {
  return watchTls(config.server, () => {
    try {
      const pair = readTls(config.server)
      if (pair === null) return
      server.setTls(pair)
      log.info('the TLS certificate is renewed')
    } catch (error) {
      log.warn({ err: error }, 'the changed TLS files cannot be used; the old certificate stays in use')
    }
  })
}

/** Dotted paths of the settings that differ, sections descended into and lists compared as a whole. */
function changedPaths(left: object, right: object, prefix = ''): string[] {
  const before = new Map<string, unknown>(Object.entries(left))
  const after = new Map<string, unknown>(Object.entries(right))
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].flatMap((key) => {
    const [old, fresh] = [before.get(key), after.get(key)]
    if (isSection(old) && isSection(fresh)) return changedPaths(old, fresh, `${prefix}${key}.`)
    return JSON.stringify(old) === JSON.stringify(fresh) ? [] : [`${prefix}${key}`]
  })
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
