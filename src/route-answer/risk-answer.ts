import { averageLevel, type Exposure, type TravelRisk } from '../risk/calc-risk.js'

/**
 * Result of `routing.calc_risk` on the wire: exposure in level · hours, lengths in metres, times in hours.
 */
interface RiskAnswer {
  exposure: ExposureAnswer
  max_risk: number
  avr_risk: number
  length: number
  time: number
  end_datetime: string
  segments: (SegmentAnswer & Omit<RiskAnswer, 'segments'>)[]
}

/** Exposure in total and by theme; in an object of their own, because a theme may be named `total`. */
interface ExposureAnswer {
  total: number
  themes: Record<string, number>
}

interface SegmentAnswer {
  start_lonlat: [number, number]
  end_lonlat: [number, number]
  start_datetime: string
  speed: number
}

/**
 * Converts the exposure of a journey to the result of `routing.calc_risk`.
 *
 * @param startUs start of the journey, µs UTC; its end when it has no legs
 * @param formatTime prints µs UTC as the wire has it
 */
export function riskAnswer(
  risk: TravelRisk,
  startUs: bigint,
  formatTime: (us: bigint) => string,
): RiskAnswer {
  return {
    ...commonAnswer(risk),
    end_datetime: formatTime(risk.legs.at(-1)?.leg.endUs ?? startUs),
    segments: risk.legs.map((part) => ({
      start_lonlat: [...part.leg.from],
      end_lonlat: [...part.leg.to],
      start_datetime: formatTime(part.leg.startUs),
      end_datetime: formatTime(part.leg.endUs),
      speed: part.leg.kmPerH,
      ...commonAnswer(part),
    })),
  }
}

/** Fields that the journey and each segment have. */
function commonAnswer(exposure: Exposure) {
  return {
    exposure: {
      total: roundTo12(exposure.total),
      themes: Object.fromEntries([...exposure.byTheme].map(([theme, value]) => [theme, roundTo12(value)])),
    },
    max_risk: exposure.maxLevel,
    avr_risk: roundTo12(averageLevel(exposure)),
    length: Math.round(exposure.lengthM * 1000) / 1000,
    time: roundTo12(exposure.hours),
  }
}

/** Rounds to 12 decimals: level 2 for 1.5 h is 3, not 2.9999999999999996. */
function roundTo12(value: number): number {
  return Number(value.toFixed(12))
}
