import path from 'node:path'
import type { Sample } from './demo-lines.js'

interface PageParts {
  readonly url: string
  /** signs in to the console, once; null without an admin key */
  readonly link: string | null
  readonly apiKey: string | null
  /** null after the first start, when it is not known any more */
  readonly secret: string | null
  /** files of a request to try; undefined without the demo */
  readonly sample: Sample | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Page that a terminal shows when the gateway is ready: its address, a way to sign in, and one line to try. */
export function terminalPage({ url, link, apiKey, secret, sample, env, cwd }: PageParts): string {
  const rows: [string, string][] = [['Address', url]]
  if (link === null) rows.push(['Console', `${url}/console/`])
  else rows.push(['Sign in', link], ['', 'the link works once, within ten minutes'])
  if (apiKey !== null && secret !== null)
    rows.push(['API key', apiKey], ['Secret', `${secret}`], ['', 'shown this once: copy it'])
  if (sample !== undefined) {
    // what npm started is not on the path of the shell
    const isNpm = env.npm_lifecycle_event === 'start'
    rows.push(['Try', isNpm ? 'npm run -s demo' : 'fieldgate demo route'], ['', curlOf(sample, cwd)])
  }
  const lines = rows.map(([name, text]) => `  ${name.padEnd(9)}${text}`)
  return `\nFieldgate is ready. Ctrl-C stops it.\n\n${lines.join('\n')}\n\n`
}

function curlOf({ headersFile, requestFile, url }: Sample, cwd: string): string {
  return `curl -s -H @'${shortOf(headersFile, cwd)}' -d @'${shortOf(requestFile, cwd)}' ${url}`
}

/** Path from the current folder where that is shorter. */
function shortOf(file: string, cwd: string): string {
  const relative = path.relative(cwd, file)
  return relative.length < file.length && !relative.startsWith('..') ? relative : file
}
