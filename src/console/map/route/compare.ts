import { formatHours, formatNumber, t } from '../../core/i18n.js'
import type { FoundRoute } from '../state.js'

/** Name of a route in the list. */
export function routeName({ kind, key }: FoundRoute): string {
  if (kind === 'other') return t('wayOther', { n: key })
  return t(kind === 'around' ? 'wayAround' : 'wayFastest')
}

/** Sentence that compares the route around the risk with the fastest; undefined where one of them is missing. */
export function comparison(routes: readonly FoundRoute[]): string | undefined {
  const around = routes.find(({ kind }) => kind === 'around')?.route
  const fastest = routes.find(({ kind }) => kind === 'fastest')?.route
  if (around === undefined || fastest === undefined) return undefined
  if (isSame(around.features, fastest.features))
    return fastest.max_risk === 0 ? t('sameWithoutRisk') : t('sameDespiteRisk', { n: fastest.max_risk })
  const time = formatHours(Math.max(0, around.time - fastest.time))
  const risk = t('gainedRisk', { from: fastest.max_risk, to: around.max_risk })
  const share = fastest.exposure === 0 ? undefined : around.exposure / fastest.exposure - 1
  const found = [
    t('gainedTime', { time }),
    risk,
    share === undefined ? undefined : t('gainedExposure', { n: percentText(share) }),
  ]
    .filter((part) => part !== undefined)
    .join(t('listComma'))
  const isLower = around.max_risk < fastest.max_risk || around.exposure < fastest.exposure
  return isLower ? found : t('notLower', { found })
}

/** `−94` for a share of -0.94. */
function percentText(share: number): string {
  const percent = Math.round(share * 100)
  return percent < 0 ? `−${formatNumber(-percent)}` : `+${formatNumber(percent)}`
}

type Features = readonly { properties: { edge_id: number } }[]

function isSame(a: Features, b: Features): boolean {
  return a.length === b.length && a.every((each, i) => each.properties.edge_id === b[i]?.properties.edge_id)
}
