import type { Result, Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'

/**
 * Makes the router of the gateway: hono's own, which remembers what it found for paths without parameters. Its search
 * makes a dozen objects for each request.
 */
export function createRouter<T>(): Router<T> {
  const inner = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] })
  /** paths without parameters that have a route of their own: a bounded number, whatever callers ask for */
  const plain = new Set<string>()
  const found = new Map<string, Result<T>>()
  return {
    get name() {
      return inner.name
    },
    add(method, path, handler) {
      if (!/[:*{]/.test(path)) plain.add(path)
      found.clear()
      inner.add(method, path, handler)
    },
    match(method, path) {
      const key = `${method} ${path}`
      const known = found.get(key)
      if (known !== undefined) return known
      const result = inner.match(method, path)
      if (plain.has(path) && found.size < MAX_FOUND) found.set(key, result)
      return result
    },
  }
}

/** Most results that are kept: methods are texts of callers. */
const MAX_FOUND = 256
