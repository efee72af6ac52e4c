import 'reflect-metadata'; // what it is made of needs it

/**
 * The logger of NestJS without the rest of it: the command line, which logs nothing and runs no application, starts a fifth
 * faster.
 */
export { Logger } from '@nestjs/common/services/logger.service.js';
