import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

export class PageQuery {
  @ApiPropertyOptional({ default: 20, minimum: 1, maximum: 100 })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  take = 20;

  @ApiPropertyOptional({ description: 'The cursor that the page before gave as `next`' })
  @IsOptional()
  @IsString()
  @MaxLength(4000)
  after?: string;

  @ApiPropertyOptional({ enum: ['1'], description: 'Answer without the shards that are down' })
  @IsOptional()
  @IsIn(['1'])
  partial?: string;
}
