import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { ConsolePage } from './browser.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeFault {
  id: string
  impact: string
  nodes: { html: string }[]
}

/** Faults of a page as it is now, of every impact, one line each. @param where named in the lines */
export async function axeFaults({ page }: ConsolePage, where: string): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate('axe.run(document)')) as { violations: AxeFault[] }
  return violations.map(
    ({ id, impact, nodes }) =>
      `${where} ${id} (${impact}): ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  )
}
