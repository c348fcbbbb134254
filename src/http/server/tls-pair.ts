import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Config } from '../../config/config.js'
import { messageOf } from '../../errors.js'

export interface TlsPair {
  cert: Buffer
  key: Buffer
}

/**
 * Interval of the checks of the files, ms. `inotify` does not follow the symbolic links that certificate
 * tools replace.
 */
const WATCH_EVERY_MS = 2000

/**
 * Reads the certificate and key of the settings; null when the gateway serves plain HTTP.
 *
 * @throws Error in one line that names the setting, the file and what to do
 */
export function readTls({ tlsCertFile, tlsKeyFile }: Config['server']): TlsPair | null {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return null
  const pair = {
    cert: readPem('server.tlsCertFile', tlsCertFile, 'a PEM certificate chain'),
    key: readPem('server.tlsKeyFile', tlsKeyFile, 'the PEM private key of the certificate'),
  }
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new Error(
      `server.tlsCertFile: ${tlsCertFile} and the tlsKeyFile ${tlsKeyFile} cannot be used together (${messageOf(error)}), ` +
        'expected a PEM certificate chain and its unencrypted PEM private key',
      { cause: error },
    )
  }
  return pair
}

/** Calls `onChange` when one of the files changed. @returns a function that stops watching */
export function watchTls({ tlsCertFile, tlsKeyFile }: Config['server'], onChange: () => void): () => void {
  const files = [tlsCertFile, tlsKeyFile].filter((file) => file !== undefined)
  for (const file of files) watchFile(file, { interval: WATCH_EVERY_MS, persistent: false }, onChange)
  return () => {
    for (const file of files) unwatchFile(file, onChange)
  }
}

function readPem(setting: string, file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(`${setting}: ${reasonOf(error, file)}; put ${what} there, or correct the setting`, {
      cause: error,
    })
  }
}

function reasonOf(error: unknown, file: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return `the file ${file} does not exist`
  if (code === 'EACCES') return `this user may not read the file ${file}`
  if (code === 'EISDIR') return `${file} is a directory`
  return `the file ${file} cannot be read (${messageOf(error)})`
}
