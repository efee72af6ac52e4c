import { Controller, Get, Inject, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { FleetMetrics } from './fleet-metrics.js';
import type { Type } from '@nestjs/common';

/** What Express and Fastify have in common. */
interface Response {
  header(name: string, value: string): unknown;
  send(body: string): unknown;
}

/** The controller of the Prometheus text. */
export function prometheusController(path: string): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  class PrometheusController {
    constructor(@Inject(FleetMetrics) private readonly metrics: FleetMetrics) {}

    /** Sends the text itself, past interceptors of the application that wrap every answer. */
    @Get()
    async scrape(@Res() response: Response): Promise<void> {
      const { registry } = this.metrics;
      const text = await registry.metrics();
      response.header('content-type', registry.contentType);
      response.header('cache-control', 'no-store');
      response.send(text);
    }
  }

  return PrometheusController;
}
